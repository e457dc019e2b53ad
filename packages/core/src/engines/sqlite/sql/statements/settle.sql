-- What became of an attempt that does not end the job.
-- name: again
UPDATE jobs SET
  status = :status, reason = :reason, rank = :rank, due_at = :due, updated_at = :now, solo = coalesce(:solo, solo),
  lease_until = NULL, token = NULL, attempt = :attempt, spent = :spent, losses = :losses, begun_losses = :begunLosses,
  started_at = CASE WHEN :unstarted THEN NULL ELSE started_at END,
  lateness_ms = CASE WHEN :unstarted THEN NULL ELSE lateness_ms END,
  percent = coalesce(:percent, percent), message = coalesce(:message, message),
  step = coalesce(:step, step), step_of = coalesce(:stepOf, step_of),
  error = coalesce(:error, error),
  attempts = CASE WHEN :entry IS NULL THEN attempts ELSE json_insert(attempts, '$[#]', json(:entry)) END
WHERE seq = :seq

-- The last attempt of a job is read from the job's own columns. One that ends by a cancel is listed where the job has the error of an earlier
-- attempt, because the columns hold one error.
-- name: listCancelled
UPDATE jobs SET attempts = json_insert(attempts, '$[#]', json(?)) WHERE seq = ? AND error IS NOT NULL

-- Keeps the newest attempts only; a job that is lost or put off for years must not grow without bound.
-- name: trimAttempts
UPDATE jobs SET attempts = json_remove(attempts, '$[0]') WHERE seq = ? AND json_array_length(attempts) > 50
