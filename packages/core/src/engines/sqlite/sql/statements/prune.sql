-- name: jobs
SELECT seq, id, created_at AS createdAt FROM finished INDEXED BY finished_prune WHERE prune_at <= ? ORDER BY prune_at LIMIT ? + 0

-- name: remember
INSERT INTO meta (key, value) VALUES ('pruned_created_at', ?)
ON CONFLICT (key) DO UPDATE SET value = max(value, excluded.value)

-- What is kept of these jobs, and beside them, in one statement each.
-- name: removeJobs
DELETE FROM finished WHERE seq IN (SELECT value FROM json_each(?))

-- name: removeLogs
DELETE FROM logs WHERE job_id IN (SELECT value FROM json_each(?))

-- name: removeChildren
DELETE FROM children WHERE parent_id IN (SELECT value FROM json_each(?))

-- name: removeJournal
DELETE FROM journal WHERE scope IN (SELECT 'job:' || value FROM json_each(?))
