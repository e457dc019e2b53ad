-- name: askCancel
UPDATE jobs SET cancel_requested_at = coalesce(cancel_requested_at, :now), cancelled_by = coalesce(cancelled_by, :actor),
  updated_at = :now
WHERE seq = :seq

-- Back from history: the same job, attempts numbered on, its policy's attempts granted again.
-- name: revive
INSERT INTO jobs ({{job.revived}}, status, reason, due_at, updated_at, fence, max_attempts, attempts)
SELECT {{job.revived}}, 'SCHEDULED', 'retried', :now, :now, :fence,
  max(spent, max_attempts) + json_extract(policy, '$.maxAttempts'), :attempts
FROM finished WHERE id = :id

-- name: discard
UPDATE finished SET dead = 0, prune_at = :now + json_extract(policy, '$.retentionMs'), updated_at = :now WHERE id = :id

-- What expectations and permission of an action depend on.
-- name: liveState
SELECT status, due_at, fence, updated_at, 0 AS dead FROM jobs WHERE id = ?

-- name: finishedState
SELECT status, due_at, fence, updated_at, dead FROM finished WHERE id = ?
