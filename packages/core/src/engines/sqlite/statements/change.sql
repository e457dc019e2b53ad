-- name: askCancel
UPDATE jobs SET cancel_requested_at = coalesce(cancel_requested_at, :now), cancelled_by = coalesce(cancelled_by, :actor),
  updated_at = :now
WHERE seq = :seq

-- Back from history: the same job, attempts numbered on, its policy's attempts granted again.
-- name: revive
INSERT INTO jobs (
  {{job.caller}}, status, reason, due_at, created_at, updated_at,
  fence, node, claimed_at, attempt, spent, max_attempts, dedupe_key, parent_id, parent_key, schedule_id, slot, error, attempts
)
SELECT {{job.caller}}, 'SCHEDULED', 'replayed', :now, created_at, :now,
  :fence, node, claimed_at, attempt, spent,
  max(spent, max_attempts) + json_extract(policy, '$.maxAttempts'), dedupe_key, parent_id, parent_key, schedule_id, slot, error, :attempts
FROM finished WHERE id = :id

-- name: discard
UPDATE finished SET dead = 0, prune_at = :now + json_extract(policy, '$.retentionMs'), updated_at = :now WHERE id = :id
