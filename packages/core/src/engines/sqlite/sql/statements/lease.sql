-- name: heartbeat
UPDATE jobs SET lease_until = ?, begun_at = CASE WHEN ? THEN coalesce(begun_at, ?) ELSE begun_at END
WHERE id = ? AND fence = ? AND status = 'RUNNING'
RETURNING cancel_requested_at

-- name: over
SELECT seq FROM jobs INDEXED BY jobs_leased WHERE lease_until IS NOT NULL AND lease_until <= ? ORDER BY lease_until LIMIT ? + 0

-- The attempt keeps its node and its beginning: the reaper settles it, it does not run it.
-- name: takeOver
UPDATE jobs SET fence = ?, lease_until = ?, token = NULL WHERE seq = ?
RETURNING {{job.claim}}

-- name: nextEnd
SELECT min(lease_until) AS at FROM jobs INDEXED BY jobs_leased WHERE lease_until IS NOT NULL

-- Whether a reap could find something: whether a lease is held, the next start deadline, whether jobs wait for their time.
-- name: peek
SELECT EXISTS (SELECT 1 FROM jobs INDEXED BY jobs_leased WHERE lease_until IS NOT NULL),
  (SELECT min(expire_at) FROM jobs INDEXED BY jobs_deadline WHERE expire_at IS NOT NULL AND started_at IS NULL),
  EXISTS (SELECT 1 FROM jobs INDEXED BY jobs_waiting WHERE rank IS NULL AND status IN ('SCHEDULED', 'RETRYING'))
