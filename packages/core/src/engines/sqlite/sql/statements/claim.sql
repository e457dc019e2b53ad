-- Taking work. A lane is (type, version, queue); its jobs stand in the index jobs_ready by rank.

-- The lanes of one type, by a loose scan: each step is one seek, however many jobs a lane holds. Two statements, because SQLite
-- would walk through all jobs of a version for (version, queue) > (?, ?).
-- name: nextVersion
SELECT version, queue FROM jobs INDEXED BY jobs_ready
WHERE rank IS NOT NULL AND solo = ? AND type = ? AND version > ? AND version <= ? ORDER BY version, queue LIMIT 1

-- name: nextQueue
SELECT queue FROM jobs INDEXED BY jobs_ready
WHERE rank IS NOT NULL AND solo = ? AND type = ? AND version = ? AND queue > ? ORDER BY queue LIMIT 1

-- Whether any job was lost before and waits: as good as never, and then nobody asks lane by lane.
-- name: highestSolo
SELECT max(solo) FROM jobs INDEXED BY jobs_ready WHERE rank IS NOT NULL

-- The lane of the first ready job, and whether the last ready job is in the same: then there is no other lane.
-- name: onlyLane
SELECT type, version, queue, (type, version, queue) = (
  SELECT type, version, queue FROM jobs INDEXED BY jobs_ready
  WHERE rank IS NOT NULL AND solo = 0 ORDER BY type DESC, version DESC, queue DESC LIMIT 1)
FROM jobs INDEXED BY jobs_ready WHERE rank IS NOT NULL AND solo = 0 ORDER BY type, version, queue LIMIT 1

-- name: heads
SELECT seq, rank FROM jobs INDEXED BY jobs_ready
WHERE rank IS NOT NULL AND solo = ? AND type = ? AND version = ? AND queue = ? ORDER BY rank, seq LIMIT ? + 0

-- The same without those whose start deadline has passed: for when there are more of them than a claim ends.
-- name: headsInTime
SELECT seq, rank FROM jobs INDEXED BY jobs_ready
WHERE rank IS NOT NULL AND solo = ? AND type = ? AND version = ? AND queue = ?
  AND (expire_at IS NULL OR started_at IS NOT NULL OR expire_at >= ?)
ORDER BY rank, seq LIMIT ? + 0

-- name: take
UPDATE jobs SET
  status = 'RUNNING', rank = NULL, fence = ?, lease_until = ?, token = ?, node = ?,
  claimed_at = ?, updated_at = ?, begun_at = NULL, attempt = attempt + 1,
  started_at = coalesce(started_at, ?), lateness_ms = coalesce(lateness_ms, max(0, ? - due_at)),
  percent = 0, message = NULL, step = NULL, step_of = NULL
WHERE seq = ?
RETURNING {{job.claim}}

-- Many at once: the same as take for each. The list is in the order of the fences to give. They are read afterwards: RETURNING would
-- keep a copy of every row until the last is written, and costs a third more.
-- name: takeMany
UPDATE jobs SET
  status = 'RUNNING', rank = NULL, fence = :fence + list.key, lease_until = :leaseUntil, token = :token, node = :node,
  claimed_at = :now, updated_at = :now, begun_at = NULL, attempt = attempt + 1,
  started_at = coalesce(started_at, :now), lateness_ms = coalesce(lateness_ms, max(0, :now - due_at)),
  percent = 0, message = NULL, step = NULL, step_of = NULL
FROM json_each(:seqs) AS list WHERE jobs.seq = list.value

-- name: taken
SELECT {{job.claim | jobs.%column}}
FROM json_each(?) AS list CROSS JOIN jobs ON jobs.seq = list.value

-- name: byToken
SELECT {{job.claim}}
FROM jobs INDEXED BY jobs_leased WHERE lease_until IS NOT NULL AND token = ? ORDER BY fence

-- name: pauses
SELECT key, value FROM records WHERE kind = 'pause'

-- Since when the oldest job that must run alone waits.
-- name: soloSince
SELECT min(due_at) AS at FROM jobs INDEXED BY jobs_ready WHERE rank IS NOT NULL AND solo = 2 AND type = ?

-- What a claim of these types would have to do: the highest ready level, whether there is a pause, the next start deadline, and when one
-- of their jobs falls due. Read without a transaction, so an idle node never takes the write lock.
-- name: peek
SELECT (SELECT max(solo) FROM jobs INDEXED BY jobs_ready WHERE rank IS NOT NULL),
  EXISTS (SELECT 1 FROM records WHERE kind = 'pause'),
  (SELECT min(expire_at) FROM jobs INDEXED BY jobs_deadline WHERE expire_at IS NOT NULL AND started_at IS NULL),
  (SELECT min((SELECT min(due_at) FROM jobs INDEXED BY jobs_waiting
    WHERE rank IS NULL AND status IN ('SCHEDULED', 'RETRYING') AND jobs.type = list.value)) FROM json_each(?) AS list)

-- The same for one type: a list of one costs more than the rest of the statement.
-- name: peekOne
SELECT (SELECT max(solo) FROM jobs INDEXED BY jobs_ready WHERE rank IS NOT NULL),
  EXISTS (SELECT 1 FROM records WHERE kind = 'pause'),
  (SELECT min(expire_at) FROM jobs INDEXED BY jobs_deadline WHERE expire_at IS NOT NULL AND started_at IS NULL),
  (SELECT min(due_at) FROM jobs INDEXED BY jobs_waiting
    WHERE rank IS NULL AND status IN ('SCHEDULED', 'RETRYING') AND type = ?)
