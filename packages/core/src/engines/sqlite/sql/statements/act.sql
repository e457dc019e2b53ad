-- name: askCancel
UPDATE jobs SET cancel_requested_at = coalesce(cancel_requested_at, :now), cancelled_by = coalesce(cancelled_by, :actor),
  updated_at = :now
WHERE seq = :seq

-- Gives a retried job, which was inserted again, what it has of its first life, and the attempts of its policy anew.
-- name: revive
UPDATE jobs SET {{job.revived -caller | %column = ended.%column}}, reason = 'retried', fence = :fence,
  max_attempts = max(ended.spent, ended.max_attempts) + json_extract(ended.policy, '$.maxAttempts'), attempts = :attempts
FROM finished AS ended WHERE jobs.id = :id AND ended.id = :id

-- name: discard
UPDATE finished SET dead = 0, prune_at = :now + json_extract(policy, '$.retentionMs'), updated_at = :now WHERE id = :id

-- What expectations and permission of an action depend on.
-- name: liveState
SELECT status, due_at, fence, updated_at, 0 AS dead FROM jobs WHERE id = ?

-- name: finishedState
SELECT status, due_at, fence, updated_at, dead FROM finished WHERE id = ?
