-- name: holder
SELECT job_id, until_at, ended, created_at, follow_id, follow_until FROM dedupes WHERE type = ? AND tenant = ? AND key = ?

-- name: hold
INSERT INTO dedupes (type, tenant, key, job_id, until_at, created_at) VALUES (?, ?, ?, ?, ?, ?)
ON CONFLICT (type, tenant, key) DO UPDATE SET
  job_id = excluded.job_id, until_at = excluded.until_at, created_at = excluded.created_at,
  ended = NULL, follow_id = NULL, follow_until = NULL

-- name: follow
UPDATE dedupes SET follow_id = ?, follow_until = ? WHERE type = ? AND tenant = ? AND key = ?

-- name: end
UPDATE dedupes SET ended = ? WHERE type = ? AND tenant = ? AND key = ?

-- name: release
DELETE FROM dedupes WHERE type = ? AND tenant = ? AND key = ?

-- An unstarted holder is given what the new call wanted. Its serial place, gates and parent stay.
-- name: replace
UPDATE jobs SET
  version = :version, queue = :queue, priority = :priority, rank_offset = :rankOffset, max_attempts = :maxAttempts,
  policy = :policy, metadata = :metadata, input = :input, expire_at = :expire, updated_at = :now{{job.passive -copyOf | , %column = :%field |}}
WHERE seq = :seq

-- Behind a holder that ended and was retried, a follow-up may hold the key by now.
-- name: prune
DELETE FROM dedupes WHERE (type, tenant, key) IN (
  SELECT type, tenant, key FROM dedupes
  WHERE until_at IS NOT NULL AND until_at <= ? AND ended IS NOT NULL AND follow_id IS NULL LIMIT ? + 0)
