-- name: owner
SELECT seq, id, type, status, attempt, percent FROM jobs WHERE id = ? AND fence = ? AND status = 'RUNNING'

-- Progress never goes back within an attempt.
-- name: progress
UPDATE jobs SET percent = max(percent, :percent), message = :message, step = :step, step_of = :stepOf, updated_at = :now
WHERE seq = :seq

-- name: lastLine
SELECT coalesce(max(n), 0) AS n FROM logs WHERE job_id = ?

-- name: addLine
INSERT INTO logs (job_id, n, attempt, line, at, level, message) VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING

-- name: trimLines
DELETE FROM logs WHERE job_id = ? AND n <= ?

-- name: lines
SELECT n, attempt, at, level, message FROM logs WHERE job_id = ? AND n > ? ORDER BY n LIMIT ? + 0
