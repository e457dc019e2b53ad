// Made by `npm run generate` from sql/. Do not edit.

/** Every statement of this engine by file name, without comments. */
export const statements = {
  act: {
    askCancel: `UPDATE jobs SET cancel_requested_at = coalesce(cancel_requested_at, :now), cancelled_by = coalesce(cancelled_by, :actor),
  updated_at = :now
WHERE seq = :seq`,
    revive: `UPDATE jobs SET created_at = ended.created_at, node = ended.node, claimed_at = ended.claimed_at, attempt = ended.attempt, spent = ended.spent, dedupe_key = ended.dedupe_key, parent_id = ended.parent_id, parent_key = ended.parent_key, schedule_id = ended.schedule_id, slot = ended.slot, error = ended.error, reason = 'retried', fence = :fence,
  max_attempts = max(ended.spent, ended.max_attempts) + json_extract(ended.policy, '$.maxAttempts'), attempts = :attempts
FROM finished AS ended WHERE jobs.id = :id AND ended.id = :id`,
    discard: `UPDATE finished SET dead = 0, prune_at = :now + json_extract(policy, '$.retentionMs'), updated_at = :now WHERE id = :id`,
    liveState: `SELECT status, due_at, fence, updated_at, 0 AS dead FROM jobs WHERE id = ?`,
    finishedState: `SELECT status, due_at, fence, updated_at, dead FROM finished WHERE id = ?`,
  },
  audit: {
    append: `INSERT INTO audit (at, actor, action, subject, before, after, note) VALUES (?, ?, ?, ?, ?, ?, ?)`,
    list: `SELECT position, at, actor, action, subject, before, after, note FROM audit
WHERE position < ? ORDER BY position DESC LIMIT ? + 0`,
    listSubject: `SELECT position, at, actor, action, subject, before, after, note FROM audit
WHERE subject = ? AND position < ? ORDER BY position DESC LIMIT ? + 0`,
    prune: `DELETE FROM audit WHERE position <= (
  SELECT max(position) FROM (SELECT position, at FROM audit ORDER BY position LIMIT :limit + 0) WHERE at < :before)`,
  },
  changes: {
    append: `INSERT INTO changes (at, entries) VALUES (?, ?)`,
    after: `SELECT position, at, entries FROM changes WHERE position >= ? ORDER BY position LIMIT ? + 0`,
    lastEver: `SELECT coalesce(max(seq), 0) AS position FROM sqlite_sequence WHERE name = 'changes' AND (SELECT 1 FROM changes WHERE position = 0) IS NULL`,
    first: `SELECT coalesce(min(position), 0) AS position FROM changes`,
    prune: `DELETE FROM changes WHERE position <= (
  SELECT max(position) FROM (SELECT position, at FROM changes ORDER BY position LIMIT :limit + 0) WHERE at < :before)`,
  },
  claim: {
    nextVersion: `SELECT version, queue FROM jobs INDEXED BY jobs_ready
WHERE rank IS NOT NULL AND solo = ? AND type = ? AND version > ? AND version <= ? ORDER BY version, queue LIMIT 1`,
    nextQueue: `SELECT queue FROM jobs INDEXED BY jobs_ready
WHERE rank IS NOT NULL AND solo = ? AND type = ? AND version = ? AND queue > ? ORDER BY queue LIMIT 1`,
    highestSolo: `SELECT max(solo) FROM jobs INDEXED BY jobs_ready WHERE rank IS NOT NULL`,
    onlyLane: `SELECT type, version, queue, (type, version, queue) = (
  SELECT type, version, queue FROM jobs INDEXED BY jobs_ready
  WHERE rank IS NOT NULL AND solo = 0 ORDER BY type DESC, version DESC, queue DESC LIMIT 1)
FROM jobs INDEXED BY jobs_ready WHERE rank IS NOT NULL AND solo = 0 ORDER BY type, version, queue LIMIT 1`,
    heads: `SELECT seq, rank FROM jobs INDEXED BY jobs_ready
WHERE rank IS NOT NULL AND solo = ? AND type = ? AND version = ? AND queue = ? ORDER BY rank, seq LIMIT ? + 0`,
    headsInTime: `SELECT seq, rank FROM jobs INDEXED BY jobs_ready
WHERE rank IS NOT NULL AND solo = ? AND type = ? AND version = ? AND queue = ?
  AND (expire_at IS NULL OR started_at IS NOT NULL OR expire_at >= ?)
ORDER BY rank, seq LIMIT ? + 0`,
    take: `UPDATE jobs SET
  status = 'RUNNING', rank = NULL, fence = ?, lease_until = ?, token = ?, node = ?,
  claimed_at = ?, updated_at = ?, begun_at = NULL, attempt = attempt + 1,
  started_at = coalesce(started_at, ?), lateness_ms = coalesce(lateness_ms, max(0, ? - due_at)),
  percent = 0, message = NULL, step = NULL, step_of = NULL
WHERE seq = ?
RETURNING id, type, version, queue, tenant, priority, input, metadata, policy, fence, attempt, spent, max_attempts, losses, begun_losses, begun_at, created_at, due_at, claimed_at, origin, slot, parent_id, parent_key, cancel_requested_at`,
    takeMany: `UPDATE jobs SET
  status = 'RUNNING', rank = NULL, fence = :fence + list.key, lease_until = :leaseUntil, token = :token, node = :node,
  claimed_at = :now, updated_at = :now, begun_at = NULL, attempt = attempt + 1,
  started_at = coalesce(started_at, :now), lateness_ms = coalesce(lateness_ms, max(0, :now - due_at)),
  percent = 0, message = NULL, step = NULL, step_of = NULL
FROM json_each(:seqs) AS list WHERE jobs.seq = list.value`,
    taken: `SELECT jobs.id, jobs.type, jobs.version, jobs.queue, jobs.tenant, jobs.priority, jobs.input, jobs.metadata, jobs.policy, jobs.fence, jobs.attempt, jobs.spent, jobs.max_attempts, jobs.losses, jobs.begun_losses, jobs.begun_at, jobs.created_at, jobs.due_at, jobs.claimed_at, jobs.origin, jobs.slot, jobs.parent_id, jobs.parent_key, jobs.cancel_requested_at
FROM json_each(?) AS list CROSS JOIN jobs ON jobs.seq = list.value`,
    byToken: `SELECT id, type, version, queue, tenant, priority, input, metadata, policy, fence, attempt, spent, max_attempts, losses, begun_losses, begun_at, created_at, due_at, claimed_at, origin, slot, parent_id, parent_key, cancel_requested_at
FROM jobs INDEXED BY jobs_leased WHERE lease_until IS NOT NULL AND token = ? ORDER BY fence`,
    pauses: `SELECT key, value FROM records WHERE kind = 'pause'`,
    soloSince: `SELECT min(due_at) AS at FROM jobs INDEXED BY jobs_ready WHERE rank IS NOT NULL AND solo = 2 AND type = ?`,
    peek: `SELECT (SELECT max(solo) FROM jobs INDEXED BY jobs_ready WHERE rank IS NOT NULL),
  EXISTS (SELECT 1 FROM records WHERE kind = 'pause'),
  (SELECT min(expire_at) FROM jobs INDEXED BY jobs_deadline WHERE expire_at IS NOT NULL AND started_at IS NULL),
  (SELECT min((SELECT min(due_at) FROM jobs INDEXED BY jobs_waiting
    WHERE rank IS NULL AND status IN ('SCHEDULED', 'RETRYING') AND jobs.type = list.value)) FROM json_each(?) AS list)`,
    peekOne: `SELECT (SELECT max(solo) FROM jobs INDEXED BY jobs_ready WHERE rank IS NOT NULL),
  EXISTS (SELECT 1 FROM records WHERE kind = 'pause'),
  (SELECT min(expire_at) FROM jobs INDEXED BY jobs_deadline WHERE expire_at IS NOT NULL AND started_at IS NULL),
  (SELECT min(due_at) FROM jobs INDEXED BY jobs_waiting
    WHERE rank IS NULL AND status IN ('SCHEDULED', 'RETRYING') AND type = ?)`,
  },
  clock: {
    read: `SELECT offset_ms, steady_ms, floor_at, floor_mono, candidate_ms, candidate_mono, seen_at FROM clocks WHERE boot = ?`,
    lastSeen: `SELECT max(coalesce((SELECT max(seen_at) FROM clocks), 0), coalesce((SELECT at FROM changes ORDER BY position DESC LIMIT 1), 0)) AS seen`,
    begin: `INSERT INTO clocks (boot, offset_ms, steady_ms, floor_at, floor_mono, seen_at)
VALUES (:boot, :offset, :offset, :floor, :mono, :seen)
ON CONFLICT (boot) DO NOTHING`,
    endJobLeases: `UPDATE jobs SET lease_until = min(lease_until, ?) WHERE lease_until IS NOT NULL`,
    endScheduleLeases: `UPDATE schedules SET lease_until = min(lease_until, ?) WHERE lease_until IS NOT NULL`,
    endLocks: `UPDATE locks SET until = min(until, ?)`,
    forgetBoots: `DELETE FROM clocks WHERE boot <> :boot AND seen_at < :before`,
    agree: `UPDATE clocks SET candidate_ms = NULL, candidate_mono = NULL, seen_at = :now WHERE boot = :boot`,
    propose: `UPDATE clocks SET candidate_ms = :seen, candidate_mono = :mono, seen_at = :now WHERE boot = :boot`,
    adopt: `UPDATE clocks
SET offset_ms = :seen, floor_at = :now, floor_mono = :mono, candidate_ms = NULL, candidate_mono = NULL, seen_at = :now
WHERE boot = :boot`,
    record: `INSERT INTO clock_steps (at, step_ms, boot) VALUES (:now, :step, :boot)`,
  },
  counts: {
    ready: `SELECT status, count(*) AS count, sum(count(*)) OVER () AS scanned
FROM (SELECT status FROM jobs INDEXED BY jobs_ready WHERE rank IS NOT NULL LIMIT :cap + 0) GROUP BY status`,
    waiting: `SELECT status, count(*) AS count, sum(count(*)) OVER () AS scanned
FROM (SELECT CASE WHEN status = 'SCHEDULED' AND due_at <= :now THEN 'PENDING' ELSE status END AS status
      FROM jobs INDEXED BY jobs_waiting WHERE rank IS NULL AND status IN ('SCHEDULED', 'RETRYING') LIMIT :cap + 0) GROUP BY status`,
    running: `SELECT status, count(*) AS count, sum(count(*)) OVER () AS scanned
FROM (SELECT status FROM jobs INDEXED BY jobs_leased WHERE lease_until IS NOT NULL LIMIT :cap + 0) GROUP BY status`,
    blocked: `SELECT status, count(*) AS count, sum(count(*)) OVER () AS scanned
FROM (SELECT status FROM jobs INDEXED BY jobs_blocked WHERE status = 'BLOCKED' LIMIT :cap + 0) GROUP BY status`,
    odd: `SELECT status, count(*) AS count, count(*) AS scanned
FROM (SELECT status FROM finished INDEXED BY finished_odd WHERE status <> 'COMPLETED' AND status = :status LIMIT :cap + 0) GROUP BY status`,
    completed: `SELECT status, count(*) AS count, count(*) AS scanned
FROM (SELECT status FROM finished INDEXED BY finished_at WHERE status = 'COMPLETED' LIMIT :cap + 0) GROUP BY status`,
    lanes: `SELECT queue, type, version, count(*) AS ready, min(due_at) AS oldest, sum(count(*)) OVER () AS scanned
FROM (SELECT queue, type, version, due_at FROM jobs INDEXED BY jobs_ready WHERE rank IS NOT NULL LIMIT :cap + 0)
GROUP BY queue, type, version`,
    byNode: `SELECT coalesce(node, '') AS node, type, count(*) AS count
FROM (SELECT node, type FROM jobs INDEXED BY jobs_leased WHERE lease_until IS NOT NULL LIMIT :cap + 0) GROUP BY node, type`,
  },
  dedupe: {
    holder: `SELECT job_id, until_at, ended, created_at, follow_id, follow_until FROM dedupes WHERE type = ? AND tenant = ? AND key = ?`,
    hold: `INSERT INTO dedupes (type, tenant, key, job_id, until_at, created_at) VALUES (?, ?, ?, ?, ?, ?)
ON CONFLICT (type, tenant, key) DO UPDATE SET
  job_id = excluded.job_id, until_at = excluded.until_at, created_at = excluded.created_at,
  ended = NULL, follow_id = NULL, follow_until = NULL`,
    follow: `UPDATE dedupes SET follow_id = ?, follow_until = ? WHERE type = ? AND tenant = ? AND key = ?`,
    end: `UPDATE dedupes SET ended = ? WHERE type = ? AND tenant = ? AND key = ?`,
    release: `DELETE FROM dedupes WHERE type = ? AND tenant = ? AND key = ?`,
    replace: `UPDATE jobs SET
  version = :version, queue = :queue, priority = :priority, rank_offset = :rankOffset, max_attempts = :maxAttempts,
  policy = :policy, metadata = :metadata, input = :input, expire_at = :expire, updated_at = :now
WHERE seq = :seq`,
    prune: `DELETE FROM dedupes WHERE (type, tenant, key) IN (
  SELECT type, tenant, key FROM dedupes
  WHERE until_at IS NOT NULL AND until_at <= ? AND ended IS NOT NULL AND follow_id IS NULL LIMIT ? + 0)`,
  },
  job: {
    insert: `INSERT INTO jobs (
  id, type, version, queue, tenant, priority, input, metadata, policy, origin, rank_offset, serial, copy_of, status, rank, due_at, expire_at, created_at, updated_at, max_attempts, dedupe_key, parent_id, parent_key,
  schedule_id, slot, fence, lease_until, token, node, claimed_at, started_at, lateness_ms, attempt
) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (id) DO NOTHING`,
    state: `SELECT seq, id, type, tenant, status, reason, rank_offset, due_at, expire_at, created_at, started_at, claimed_at, begun_at, fence, node, attempt, spent, max_attempts, losses, begun_losses, percent, dedupe_key, serial, schedule_id, parent_id, cancel_requested_at, policy
FROM jobs WHERE id = ?`,
    stateBySeq: `SELECT seq, id, type, tenant, status, reason, rank_offset, due_at, expire_at, created_at, started_at, claimed_at, begun_at, fence, node, attempt, spent, max_attempts, losses, begun_losses, percent, dedupe_key, serial, schedule_id, parent_id, cancel_requested_at, policy
FROM jobs WHERE seq = ?`,
    live: `SELECT jobs.* FROM jobs WHERE id = ?`,
    finished: `SELECT finished.* FROM finished WHERE id = ?`,
    finishedBrief: `SELECT seq, id, type, tenant, status, due_at, finished_at, fence, dead FROM finished WHERE id = ?`,
    place: `UPDATE jobs SET status = ?, reason = ?, rank = ?, expire_at = expire_at + (? - due_at), due_at = ?, updated_at = ? WHERE seq = ?`,
    finish: `INSERT OR REPLACE INTO finished (
  seq, id, type, version, queue, tenant, priority, input, metadata, policy, attempt, max_attempts, begun_at, created_at, due_at, claimed_at, origin, slot, parent_id, parent_key, cancel_requested_at, rank_offset, serial, copy_of, dedupe_key, schedule_id, expire_at, node, attempts,
  status, reason, updated_at, started_at, lateness_ms, finished_at, dead, prune_at, fence, spent,
  losses, begun_losses, percent, message, step, step_of, cancelled_by, error, result
)
SELECT seq, id, type, version, queue, tenant, priority, input, metadata, policy, attempt, max_attempts, begun_at, created_at, due_at, claimed_at, origin, slot, parent_id, parent_key, cancel_requested_at, rank_offset, serial, copy_of, dedupe_key, schedule_id, expire_at, node, attempts,
  ?, ?, ?, CASE WHEN ? THEN NULL ELSE started_at END, CASE WHEN ? THEN NULL ELSE lateness_ms END, ?, ?, ?, ?, ?,
  ?, ?, coalesce(?, percent), coalesce(?, message), coalesce(?, step), coalesce(?, step_of), coalesce(?, cancelled_by),
  CASE WHEN ? THEN NULL ELSE coalesce(?, error) END, ?
FROM jobs WHERE seq = ?`,
    finishMany: `INSERT OR REPLACE INTO finished (
  seq, id, type, version, queue, tenant, priority, input, metadata, policy, fence, attempt, spent, max_attempts, losses, begun_losses, begun_at, created_at, due_at, claimed_at, origin, slot, parent_id, parent_key, cancel_requested_at, rank_offset, serial, copy_of, dedupe_key, schedule_id, started_at, lateness_ms, expire_at, node, attempts, status, reason, updated_at, finished_at, dead, prune_at,
  percent, message, step, step_of, cancelled_by, error, result
)
SELECT seq, jobs.id, jobs.type, jobs.version, jobs.queue, jobs.tenant, jobs.priority, jobs.input, jobs.metadata, jobs.policy, jobs.fence, jobs.attempt, spent + (list.value ->> 3), jobs.max_attempts, jobs.losses, jobs.begun_losses, jobs.begun_at, jobs.created_at, jobs.due_at, jobs.claimed_at, jobs.origin, jobs.slot, jobs.parent_id, jobs.parent_key, jobs.cancel_requested_at, jobs.rank_offset, jobs.serial, jobs.copy_of, jobs.dedupe_key, jobs.schedule_id, jobs.started_at, jobs.lateness_ms, jobs.expire_at, jobs.node, jobs.attempts,
  'COMPLETED', :reason, :now, :now, 0, :now + json_extract(policy, '$.retentionMs'),
  100, message, step, step_of, cancelled_by, NULL, list.value ->> 2
FROM json_each(:list) AS list CROSS JOIN jobs ON jobs.id = list.value ->> 0
WHERE fence = list.value ->> 1 AND status = 'RUNNING'
RETURNING seq, id, type, tenant, dedupe_key, serial`,
    removeMany: `DELETE FROM jobs WHERE seq IN (SELECT value FROM json_each(?))`,
    followed: `SELECT ref FROM gates WHERE ref IN (SELECT value FROM json_each(:ids)) AND kind <> 'serial'
UNION SELECT waits_for FROM schedules WHERE waits_for IN (SELECT value FROM json_each(:ids))`,
    remove: `DELETE FROM jobs WHERE seq = ?`,
    removeFinished: `DELETE FROM finished WHERE id = ?`,
    removeLogs: `DELETE FROM logs WHERE job_id = ?`,
    removeJournal: `DELETE FROM journal WHERE scope = ?`,
    removeChildren: `DELETE FROM children WHERE parent_id = ?`,
    child: `SELECT job_id FROM children WHERE parent_id = ? AND key = ?`,
    addChild: `INSERT INTO children (parent_id, key, job_id) VALUES (?, ?, ?)`,
    addGate: `INSERT INTO gates (kind, ref, order_at, job) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING`,
    reorderGate: `UPDATE gates SET order_at = ? WHERE kind = 'serial' AND job = ?`,
    gatesOf: `SELECT kind, ref FROM gates WHERE job = ? ORDER BY kind, ref`,
    removeGatesOf: `DELETE FROM gates WHERE job = ?`,
    isAwaited: `SELECT 1 FROM gates WHERE ref = ? AND kind <> 'serial' LIMIT 1`,
    openGates: `DELETE FROM gates WHERE ref = ? AND kind <> 'serial' RETURNING job`,
    serialHolder: `SELECT job FROM places WHERE kind = 'serial' AND ref = ?`,
    holdSerial: `INSERT INTO places (kind, ref, job) VALUES ('serial', ?, ?)`,
    releaseSerial: `DELETE FROM places WHERE kind = 'serial' AND ref = ? AND job = ?`,
    unpromotedOfSerial: `SELECT id, type, tenant, status, reason, rank_offset, due_at, serial, percent, seq
FROM jobs INDEXED BY jobs_serial
WHERE serial IS NOT NULL AND serial = :serial AND tenant IS :tenant AND status = 'SCHEDULED' AND due_at <= :now AND seq <> :seq`,
    nextInLine: `SELECT job AS seq, order_at FROM gates WHERE kind = 'serial' AND ref = ? ORDER BY order_at, job LIMIT 1`,
    removeSerialGate: `DELETE FROM gates WHERE kind = 'serial' AND ref = ? AND job = ?`,
    isWaitedFor: `SELECT 1 FROM schedules WHERE waits_for = ? LIMIT 1`,
    wakeSchedules: `UPDATE schedules SET due_at = ? WHERE waits_for = ? AND (due_at IS NULL OR due_at > ?)`,
    promotable: `SELECT id, type, tenant, status, reason, rank_offset, due_at, serial, percent, seq
FROM jobs INDEXED BY jobs_waiting
WHERE rank IS NULL AND status IN ('SCHEDULED', 'RETRYING') AND type = ? AND due_at <= ?
ORDER BY due_at, seq LIMIT ? + 0`,
    nextDue: `SELECT min(due_at) AS at FROM jobs INDEXED BY jobs_waiting
WHERE rank IS NULL AND status IN ('SCHEDULED', 'RETRYING') AND type = ?`,
    nextWaitingType: `SELECT type FROM jobs INDEXED BY jobs_waiting
WHERE rank IS NULL AND status IN ('SCHEDULED', 'RETRYING') AND type > ? ORDER BY type LIMIT 1`,
    overdue: `SELECT seq FROM jobs INDEXED BY jobs_deadline
WHERE expire_at IS NOT NULL AND started_at IS NULL AND expire_at < ? ORDER BY expire_at LIMIT ? + 0`,
    nextDeadline: `SELECT min(expire_at) AS at FROM jobs INDEXED BY jobs_deadline WHERE expire_at IS NOT NULL AND started_at IS NULL`,
  },
  lease: {
    heartbeat: `UPDATE jobs SET lease_until = ?, begun_at = CASE WHEN ? THEN coalesce(begun_at, ?) ELSE begun_at END
WHERE id = ? AND fence = ? AND status = 'RUNNING'
RETURNING cancel_requested_at`,
    over: `SELECT seq FROM jobs INDEXED BY jobs_leased WHERE lease_until IS NOT NULL AND lease_until <= ? ORDER BY lease_until LIMIT ? + 0`,
    takeOver: `UPDATE jobs SET fence = ?, lease_until = ?, token = NULL WHERE seq = ?
RETURNING id, type, version, queue, tenant, priority, input, metadata, policy, fence, attempt, spent, max_attempts, losses, begun_losses, begun_at, created_at, due_at, claimed_at, origin, slot, parent_id, parent_key, cancel_requested_at`,
    nextEnd: `SELECT min(lease_until) AS at FROM jobs INDEXED BY jobs_leased WHERE lease_until IS NOT NULL`,
    peek: `SELECT EXISTS (SELECT 1 FROM jobs INDEXED BY jobs_leased WHERE lease_until IS NOT NULL),
  (SELECT min(expire_at) FROM jobs INDEXED BY jobs_deadline WHERE expire_at IS NOT NULL AND started_at IS NULL),
  EXISTS (SELECT 1 FROM jobs INDEXED BY jobs_waiting WHERE rank IS NULL AND status IN ('SCHEDULED', 'RETRYING'))`,
  },
  lock: {
    read: `SELECT fence, until, token, holder FROM locks WHERE name = ?`,
    take: `INSERT INTO locks (name, fence, until, token, holder) VALUES (:name, :fence, :until, :token, :holder)
ON CONFLICT (name) DO UPDATE SET
  fence = excluded.fence, until = excluded.until, token = excluded.token, holder = excluded.holder`,
    renew: `UPDATE locks SET until = ? WHERE name = ? AND fence = ?`,
    release: `DELETE FROM locks WHERE name = ? AND fence = ?`,
    heldBetween: `SELECT name, fence, until, holder FROM locks
WHERE name >= :prefix AND name < :end AND name > :after AND until > :steady ORDER BY name LIMIT :limit + 0`,
    heldFrom: `SELECT name, fence, until, holder FROM locks
WHERE name >= :prefix AND name > :after AND until > :steady ORDER BY name LIMIT :limit + 0`,
    prune: `DELETE FROM locks WHERE name IN (SELECT name FROM locks WHERE until < ? LIMIT ? + 0)`,
  },
  meta: {
    lastFence: `SELECT value FROM meta WHERE key = 'fence'`,
    setLastFence: `UPDATE meta SET value = ? WHERE key = 'fence'`,
    read: `SELECT value FROM meta WHERE key = ?`,
    write: `INSERT INTO meta (key, value) VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value`,
  },
  node: {
    heartbeat: `INSERT INTO nodes (id, info, heartbeat_at, heartbeat_steady) VALUES (:id, :info, :now, :steady)
ON CONFLICT (id) DO UPDATE SET info = excluded.info, heartbeat_at = excluded.heartbeat_at, heartbeat_steady = excluded.heartbeat_steady`,
    leave: `DELETE FROM nodes WHERE id = ?`,
    drain: `UPDATE nodes SET drain_requested_at = coalesce(drain_requested_at, ?) WHERE id = ?`,
    forget: `DELETE FROM nodes WHERE heartbeat_steady < ?`,
    list: `SELECT info, heartbeat_at AS heartbeatAt, heartbeat_steady AS steady, drain_requested_at AS drainRequestedAt FROM nodes ORDER BY id`,
  },
  prune: {
    jobs: `SELECT seq, id, created_at AS createdAt FROM finished INDEXED BY finished_prune WHERE prune_at <= ? ORDER BY prune_at LIMIT ? + 0`,
    remember: `INSERT INTO meta (key, value) VALUES ('pruned_created_at', ?)
ON CONFLICT (key) DO UPDATE SET value = max(value, excluded.value)`,
    removeJobs: `DELETE FROM finished WHERE seq IN (SELECT value FROM json_each(?))`,
    removeLogs: `DELETE FROM logs WHERE job_id IN (SELECT value FROM json_each(?))`,
    removeChildren: `DELETE FROM children WHERE parent_id IN (SELECT value FROM json_each(?))`,
    removeJournal: `DELETE FROM journal WHERE scope IN (SELECT 'job:' || value FROM json_each(?))`,
  },
  record: {
    read: `SELECT kind, key, value, version, updated_at AS updatedAt FROM records WHERE kind = ? AND key = ?`,
    list: `SELECT kind, key, value, version, updated_at AS updatedAt FROM records WHERE kind = ? AND key > ? ORDER BY key LIMIT ? + 0`,
    put: `INSERT INTO records (kind, key, value, version, updated_at) VALUES (?, ?, ?, 1, ?)
ON CONFLICT (kind, key) DO UPDATE SET value = excluded.value, version = version + 1, updated_at = excluded.updated_at`,
    delete: `DELETE FROM records WHERE kind = ? AND key = ?`,
  },
  report: {
    owner: `SELECT seq, id, type, status, attempt, percent FROM jobs WHERE id = ? AND fence = ? AND status = 'RUNNING'`,
    progress: `UPDATE jobs SET percent = max(percent, :percent), message = :message, step = :step, step_of = :stepOf, updated_at = :now
WHERE seq = :seq`,
    lastLine: `SELECT coalesce(max(n), 0) AS n FROM logs WHERE job_id = ?`,
    addLine: `INSERT INTO logs (job_id, n, attempt, line, at, level, message) VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
    trimLines: `DELETE FROM logs WHERE job_id = ? AND n <= ?`,
    lines: `SELECT n, attempt, at, level, message FROM logs WHERE job_id = ? AND n > ? ORDER BY n LIMIT ? + 0`,
  },
  schedule: {
    read: `SELECT schedules.*, specs.spec FROM schedules JOIN specs USING (seq) WHERE id = ?`,
    generation: `SELECT generation FROM generations WHERE id = ?`,
    setGeneration: `INSERT INTO generations (id, generation) VALUES (?, ?) ON CONFLICT (id) DO UPDATE SET generation = excluded.generation`,
    insert: `INSERT INTO schedules (id, app, tenant, name, generation, version, state, due_at, waits_for, created_at, updated_at)
VALUES (:id, :app, :tenant, :name, :generation, 1, :state, :due, :waitsFor, :now, :now)`,
    putSpec: `INSERT INTO specs (seq, spec) VALUES (?, ?) ON CONFLICT (seq) DO UPDATE SET spec = excluded.spec`,
    deleteSpec: `DELETE FROM specs WHERE seq = ?`,
    update: `UPDATE schedules SET app = :app, tenant = :tenant, name = :name, version = version + 1, state = :state,
  due_at = :due, waits_for = :waitsFor, updated_at = :now, lease_until = NULL, token = NULL, node = NULL
WHERE id = :id`,
    delete: `DELETE FROM schedules WHERE id = ?`,
    peek: `SELECT min(due_at) FROM schedules INDEXED BY schedules_due WHERE due_at IS NOT NULL`,
    due: `SELECT seq, id, app, tenant, name, generation, version, spec, state, due_at, waits_for, created_at, updated_at
FROM schedules INDEXED BY schedules_due JOIN specs USING (seq)
WHERE due_at IS NOT NULL AND due_at <= ? AND (lease_until IS NULL OR lease_until <= ?)
ORDER BY due_at LIMIT ? + 0`,
    leaseOne: `UPDATE schedules SET fence = ?, lease_until = ?, token = ?, node = ? WHERE seq = ?`,
    leaseMany: `UPDATE schedules SET fence = ?, lease_until = ?, token = ?, node = ? WHERE seq IN (SELECT value FROM json_each(?))`,
    byToken: `SELECT id, app, tenant, name, generation, version, spec, state, due_at, waits_for, created_at, updated_at, fence
FROM schedules INDEXED BY schedules_token JOIN specs USING (seq) WHERE token IS NOT NULL AND token = ?`,
    lease: `UPDATE schedules SET fence = ?, lease_until = ?, token = ?, node = ?
WHERE id = ? AND (lease_until IS NULL OR lease_until <= ?)
RETURNING id, app, tenant, name, generation, version, (SELECT spec FROM specs WHERE specs.seq = schedules.seq), state, due_at, waits_for, created_at, updated_at, fence`,
    nextDue: `SELECT (SELECT min(due_at) FROM schedules INDEXED BY schedules_due
    WHERE due_at IS NOT NULL AND (lease_until IS NULL OR lease_until <= ?1)),
  (SELECT min(lease_until) FROM schedules INDEXED BY schedules_token
    WHERE token IS NOT NULL AND token <> ?2 AND lease_until > ?1 AND due_at IS NOT NULL)`,
    held: `SELECT seq, generation FROM schedules WHERE id = ? AND version = ? AND fence = ?`,
    fire: `UPDATE schedules SET state = ?, due_at = ?, waits_for = ?, version = version + 1, updated_at = ?,
  lease_until = NULL, token = NULL, node = NULL
WHERE seq = ?`,
    active: `SELECT id, status, slot, origin, due_at, cancel_requested_at FROM jobs INDEXED BY jobs_schedule
WHERE schedule_id = ? AND json_extract(slot, '$.allow') IS NOT 1 ORDER BY seq LIMIT 10`,
    activeCount: `SELECT count(*) AS count FROM jobs INDEXED BY jobs_schedule
WHERE schedule_id = ? AND json_extract(slot, '$.allow') IS NOT 1`,
    unstarted: `SELECT id FROM jobs INDEXED BY jobs_schedule WHERE schedule_id = ? AND started_at IS NULL`,
    waits: `SELECT 1 FROM jobs WHERE id = ? AND status IN ('SCHEDULED', 'PENDING', 'BLOCKED')`,
    setSlotDetails: `UPDATE jobs SET slot = json_set(slot, '$.details', ?) WHERE id = ?`,
    free: `UPDATE schedules SET lease_until = NULL, token = NULL, node = NULL WHERE id = ? AND version = ? AND fence = ?`,
    addSlot: `INSERT INTO slots (schedule_id, generation, from_at, to_at, count, decision, reason, node, job_id, decided_at, last_decided_at)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    lastSlot: `SELECT from_at, to_at, count, decision, reason, job_id FROM slots
WHERE schedule_id = ? AND generation = ? ORDER BY from_at DESC LIMIT 1`,
    extendSlot: `UPDATE slots SET to_at = ?, count = ?, last_decided_at = ? WHERE schedule_id = ? AND generation = ? AND from_at = ?`,
    slots: `SELECT generation, from_at, to_at, count, decision, reason, node, job_id, decided_at, last_decided_at FROM slots
WHERE schedule_id = ? AND to_at >= ? AND from_at < ? ORDER BY generation DESC, from_at DESC LIMIT ? + 0`,
    oldSlots: `SELECT schedule_id AS scheduleId, generation, from_at AS fromAt, to_at AS toAt, count, decision
FROM slots INDEXED BY slots_decided
WHERE decided_at < :before AND last_decided_at < :before ORDER BY decided_at LIMIT :limit + 0`,
    removeSlot: `DELETE FROM slots WHERE schedule_id = ? AND generation = ? AND from_at = ?`,
    readCompactedRow: `SELECT from_at AS fromAt, to_at AS toAt, counts FROM compacted_months WHERE schedule_id = ? AND generation = ? AND start_at = ?`,
    writeCompactedRow: `INSERT INTO compacted_months (schedule_id, generation, start_at, from_at, to_at, counts) VALUES (?, ?, ?, ?, ?, ?)
ON CONFLICT (schedule_id, generation, start_at) DO UPDATE
SET from_at = excluded.from_at, to_at = excluded.to_at, counts = excluded.counts`,
    forgetCompacted: `DELETE FROM compacted_months WHERE schedule_id = ?`,
    compactedRows: `SELECT generation, start_at AS startAt, from_at AS fromAt, to_at AS toAt, counts FROM compacted_months
WHERE schedule_id = ? AND to_at >= ? AND from_at < ? ORDER BY generation DESC, start_at DESC LIMIT ? + 0`,
  },
  settle: {
    again: `UPDATE jobs SET
  status = :status, reason = :reason, rank = :rank, due_at = :due, updated_at = :now, solo = coalesce(:solo, solo),
  lease_until = NULL, token = NULL, attempt = :attempt, spent = :spent, losses = :losses, begun_losses = :begunLosses,
  started_at = CASE WHEN :unstarted THEN NULL ELSE started_at END,
  lateness_ms = CASE WHEN :unstarted THEN NULL ELSE lateness_ms END,
  percent = coalesce(:percent, percent), message = coalesce(:message, message),
  step = coalesce(:step, step), step_of = coalesce(:stepOf, step_of),
  error = coalesce(:error, error),
  attempts = CASE WHEN :entry IS NULL THEN attempts ELSE json_insert(attempts, '$[#]', json(:entry)) END
WHERE seq = :seq`,
    listCancelled: `UPDATE jobs SET attempts = json_insert(attempts, '$[#]', json(?)) WHERE seq = ? AND error IS NOT NULL`,
    trimAttempts: `UPDATE jobs SET attempts = json_remove(attempts, '$[0]') WHERE seq = ? AND json_array_length(attempts) > 50`,
  },
  stats: {
    outcomes: `SELECT status, finished_at - claimed_at AS duration, lateness_ms AS wait, finished_at, type
FROM finished INDEXED BY finished_at WHERE finished_at >= ? ORDER BY finished_at DESC LIMIT 100000`,
    outcomesOfSchedule: `SELECT status, finished_at - claimed_at AS duration, lateness_ms AS wait, finished_at
FROM finished INDEXED BY finished_schedule WHERE schedule_id = ? AND finished_at >= ? ORDER BY finished_at DESC LIMIT ? + 0`,
    ended: `SELECT count(*) AS count
FROM (SELECT 1 FROM finished INDEXED BY finished_at WHERE finished_at >= :fromAt AND finished_at < :beforeAt LIMIT :max + 0)`,
    endedOfSchedule: `SELECT count(*) AS count
FROM (SELECT 1 FROM finished INDEXED BY finished_schedule
      WHERE schedule_id = :scheduleId AND finished_at >= :fromAt AND finished_at < :beforeAt LIMIT :max + 0)`,
    odd: `SELECT status, count(*) AS count FROM finished INDEXED BY finished_odd
WHERE status <> 'COMPLETED' AND status IN ('CANCELLED', 'EXPIRED', 'FAILED') AND finished_at >= :fromAt AND finished_at < :beforeAt
  AND (:type IS NULL OR type = :type) GROUP BY status`,
    sample: `SELECT type, status, origin, finished_at - claimed_at AS duration, lateness_ms AS wait
FROM finished INDEXED BY finished_at WHERE finished_at >= ? AND finished_at < ? ORDER BY finished_at LIMIT ? + 0`,
    sampleOfSchedule: `SELECT type, status, origin, finished_at - claimed_at AS duration, lateness_ms AS wait
FROM finished INDEXED BY finished_schedule
WHERE schedule_id = ? AND finished_at >= ? AND finished_at < ? ORDER BY finished_at LIMIT ? + 0`,
  },
  upcoming: {
    types: `WITH RECURSIVE one(type) AS (
  SELECT (SELECT type FROM jobs INDEXED BY jobs_waiting
          WHERE rank IS NULL AND status IN ('SCHEDULED', 'RETRYING') ORDER BY type LIMIT 1)
  UNION ALL
  SELECT (SELECT j.type FROM jobs j INDEXED BY jobs_waiting
          WHERE j.rank IS NULL AND j.status IN ('SCHEDULED', 'RETRYING') AND j.type > one.type ORDER BY j.type LIMIT 1)
  FROM one WHERE one.type IS NOT NULL)
SELECT type FROM one WHERE type IS NOT NULL`,
    steps: `SELECT CAST((due_at - :now) / :stepMs AS INTEGER) AS step, count(*) AS count
FROM (SELECT due_at FROM jobs INDEXED BY jobs_waiting
      WHERE rank IS NULL AND status IN ('SCHEDULED', 'RETRYING') AND type = :type AND due_at > :now AND due_at < :beforeAt
        AND (:isAll OR tenant IS :tenant)
      ORDER BY due_at LIMIT :cap + 1)
GROUP BY 1`,
    earliest: `SELECT * FROM jobs INDEXED BY jobs_waiting
WHERE rank IS NULL AND status IN ('SCHEDULED', 'RETRYING') AND type = :type AND due_at > :now AND due_at < :beforeAt
  AND (:isAll OR tenant IS :tenant)
ORDER BY due_at, id LIMIT :limit + 0`,
  },
  value: {
    read: `SELECT value, expires_at, cleanup_id FROM expirings WHERE name = ? AND key = ?`,
    put: `INSERT INTO expirings (name, key, value, expires_at, cleanup_id) VALUES (?, ?, ?, ?, ?)
ON CONFLICT (name, key) DO UPDATE SET
  value = excluded.value, expires_at = excluded.expires_at, cleanup_id = excluded.cleanup_id`,
    extend: `UPDATE expirings SET expires_at = ? WHERE name = ? AND key = ?`,
    delete: `DELETE FROM expirings WHERE name = ? AND key = ?`,
    prune: `DELETE FROM expirings WHERE (name, key) IN (SELECT name, key FROM expirings WHERE expires_at <= ? LIMIT ? + 0)`,
    remembered: `SELECT value, until_at FROM journal WHERE scope = ? AND key = ?`,
    remember: `INSERT INTO journal (scope, key, value, until_at) VALUES (?, ?, ?, ?)
ON CONFLICT (scope, key) DO UPDATE SET value = excluded.value, until_at = excluded.until_at`,
    pruneJournal: `DELETE FROM journal WHERE (scope, key) IN (
  SELECT scope, key FROM journal WHERE until_at IS NOT NULL AND until_at <= ? LIMIT ? + 0)`,
  },
} as const;

/** Every step of the schema in order; numbers are consecutive from 1. */
export const schemaSteps: readonly { number: number; name: string; sql: string }[] = [
  { number: 1, name: 'initial', sql: `-- Small facts of the store: schema version, the lowest code it serves, the fence counter.
CREATE TABLE meta (key TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;
INSERT INTO meta (key, value) VALUES ('fence', 0);

-- That the store was moved away, or is being moved here: at most one row. While it is fenced the names of all tables but this one, meta and
-- the clock's begin with moved_, so that whoever comes with an ordinary statement finds nothing.
CREATE TABLE transfers (
  role   TEXT NOT NULL,
  move   TEXT NOT NULL,
  place  TEXT NOT NULL,
  at     INTEGER NOT NULL
);

-- One row per boot of the machine: wall time = offset_ms + the machine's monotonic clock.
-- steady_ms is the offset that leases use; it never changes within a boot.
-- After a step backwards now runs at half speed from (floor_mono, floor_at) until the wall clock has caught up.
CREATE TABLE clocks (
  boot            TEXT PRIMARY KEY,
  offset_ms       REAL NOT NULL,
  steady_ms       REAL NOT NULL,
  floor_at        REAL NOT NULL,
  floor_mono      REAL NOT NULL,
  candidate_ms    REAL,
  candidate_mono  REAL,
  seen_at         REAL NOT NULL
) WITHOUT ROWID;

CREATE TABLE clock_steps (
  position  INTEGER PRIMARY KEY AUTOINCREMENT,
  at        INTEGER NOT NULL,
  step_ms   REAL NOT NULL,
  boot      TEXT NOT NULL
);

-- Live jobs. The narrow, often-read columns stand first: SQLite reads a row from its start, and a long input
-- behind them spills onto pages that a claim need not touch.
CREATE TABLE jobs (
  -- AUTOINCREMENT: without it SQLite gives a deleted row's number away again.
  seq                  INTEGER PRIMARY KEY AUTOINCREMENT,
  id                   TEXT NOT NULL UNIQUE,
  type                 TEXT NOT NULL,
  version              INTEGER NOT NULL,
  queue                TEXT NOT NULL,
  tenant               TEXT,
  priority             INTEGER NOT NULL,
  status               TEXT NOT NULL,
  reason               TEXT,
  -- 0: ordinary. 1: lost once, claimed by itself. 2: must run alone in its process.
  solo                 INTEGER NOT NULL DEFAULT 0,
  -- Not null while it may be taken: PENDING, or RETRYING and due.
  rank                 INTEGER,
  rank_offset          INTEGER NOT NULL,
  due_at               INTEGER NOT NULL,
  expire_at            INTEGER,
  created_at           INTEGER NOT NULL,
  updated_at           INTEGER NOT NULL,
  started_at           INTEGER,
  lateness_ms          INTEGER,
  fence                INTEGER NOT NULL DEFAULT 0,
  -- In steady time, so that a step of the wall clock does not move it.
  lease_until          INTEGER,
  token                TEXT,
  node                 TEXT,
  claimed_at           INTEGER,
  begun_at             INTEGER,
  attempt              INTEGER NOT NULL DEFAULT 0,
  spent                INTEGER NOT NULL DEFAULT 0,
  max_attempts         INTEGER NOT NULL,
  losses               INTEGER NOT NULL DEFAULT 0,
  begun_losses         INTEGER NOT NULL DEFAULT 0,
  percent              REAL NOT NULL DEFAULT 0,
  message              TEXT,
  step                 INTEGER,
  step_of              INTEGER,
  cancel_requested_at  INTEGER,
  cancelled_by         TEXT,
  origin               TEXT NOT NULL,
  dedupe_key           TEXT,
  serial               TEXT,
  parent_id            TEXT,
  parent_key           TEXT,
  copy_of              TEXT,
  schedule_id          TEXT,
  slot                 TEXT,
  policy               TEXT NOT NULL,
  metadata             TEXT,
  error                TEXT,
  attempts             TEXT NOT NULL DEFAULT '[]',
  input                TEXT NOT NULL
);
CREATE INDEX jobs_ready ON jobs (solo, type, version, queue, rank) WHERE rank IS NOT NULL;
-- By type first: a flood of due jobs of one type must not stand before those of another.
CREATE INDEX jobs_waiting ON jobs (type, due_at) WHERE rank IS NULL AND status IN ('SCHEDULED', 'RETRYING');
CREATE INDEX jobs_leased ON jobs (lease_until) WHERE lease_until IS NOT NULL;
CREATE INDEX jobs_deadline ON jobs (expire_at) WHERE expire_at IS NOT NULL AND started_at IS NULL;
CREATE INDEX jobs_blocked ON jobs (due_at) WHERE status = 'BLOCKED';
CREATE INDEX jobs_serial ON jobs (serial) WHERE serial IS NOT NULL;
CREATE INDEX jobs_schedule ON jobs (schedule_id) WHERE schedule_id IS NOT NULL;
-- Which backfills a slot has. Other runs of a slot are named by the ledger, so only these few are indexed.
CREATE INDEX jobs_backfill ON jobs (schedule_id, json_extract(slot, '$.slotAt')) WHERE origin = 'backfill';
CREATE INDEX jobs_parent ON jobs (parent_id) WHERE parent_id IS NOT NULL;

-- Jobs that are over. The same columns, plus how it ended.
CREATE TABLE finished (
  seq                  INTEGER PRIMARY KEY,
  id                   TEXT NOT NULL UNIQUE,
  type                 TEXT NOT NULL,
  version              INTEGER NOT NULL,
  queue                TEXT NOT NULL,
  tenant               TEXT,
  priority             INTEGER NOT NULL,
  status               TEXT NOT NULL,
  reason               TEXT,
  rank_offset          INTEGER NOT NULL,
  due_at               INTEGER NOT NULL,
  expire_at            INTEGER,
  created_at           INTEGER NOT NULL,
  updated_at           INTEGER NOT NULL,
  started_at           INTEGER,
  lateness_ms          INTEGER,
  finished_at          INTEGER NOT NULL,
  -- 1: listed as a dead letter until retried, discarded or past its retention.
  dead                 INTEGER NOT NULL,
  prune_at             INTEGER NOT NULL,
  fence                INTEGER NOT NULL,
  node                 TEXT,
  claimed_at           INTEGER,
  begun_at             INTEGER,
  attempt              INTEGER NOT NULL,
  spent                INTEGER NOT NULL,
  max_attempts         INTEGER NOT NULL,
  losses               INTEGER NOT NULL,
  begun_losses         INTEGER NOT NULL,
  percent              REAL NOT NULL,
  message              TEXT,
  step                 INTEGER,
  step_of              INTEGER,
  cancel_requested_at  INTEGER,
  cancelled_by         TEXT,
  origin               TEXT NOT NULL,
  dedupe_key           TEXT,
  serial               TEXT,
  parent_id            TEXT,
  parent_key           TEXT,
  copy_of              TEXT,
  schedule_id          TEXT,
  slot                 TEXT,
  policy               TEXT NOT NULL,
  metadata             TEXT,
  error                TEXT,
  result               TEXT,
  attempts             TEXT NOT NULL,
  input                TEXT NOT NULL
);
CREATE INDEX finished_prune ON finished (prune_at);
-- With all that statistics read: they look at very many rows, and each of them would be a page of its own.
CREATE INDEX finished_at ON finished (finished_at, status, type, origin, claimed_at, lateness_ms);
-- The few that did not complete are counted whatever there is besides.
CREATE INDEX finished_odd ON finished (status, finished_at, type) WHERE status <> 'COMPLETED';
CREATE INDEX finished_dead ON finished (finished_at) WHERE dead = 1;
CREATE INDEX finished_schedule ON finished (schedule_id, finished_at) WHERE schedule_id IS NOT NULL;
-- The latest of a tenant, of a key and of a parent may lie behind millions of others. Jobs without them are not in it.
CREATE INDEX finished_tenant ON finished (tenant, id) WHERE tenant IS NOT NULL;
CREATE INDEX finished_key ON finished (dedupe_key, id) WHERE dedupe_key IS NOT NULL;
CREATE INDEX finished_parent ON finished (parent_id, id) WHERE parent_id IS NOT NULL;
CREATE INDEX finished_backfill ON finished (schedule_id, json_extract(slot, '$.slotAt')) WHERE origin = 'backfill';

-- Shut gates of BLOCKED jobs. ref is a job's id, or for kind serial the place.
-- order_at is the due instant where waiters are let in one by one (serial), else 0.
CREATE TABLE gates (
  kind      TEXT NOT NULL,
  ref       TEXT NOT NULL,
  order_at  INTEGER NOT NULL,
  job       INTEGER NOT NULL,
  -- By ref first: the end of a job asks once for all kinds, and nearly always there is nothing.
  PRIMARY KEY (ref, kind, order_at, job)
) WITHOUT ROWID;
CREATE INDEX gates_job ON gates (job, kind, ref);

-- Who holds the one place of a serial key.
CREATE TABLE places (
  kind  TEXT NOT NULL,
  ref   TEXT NOT NULL,
  job   INTEGER NOT NULL,
  PRIMARY KEY (kind, ref)
) WITHOUT ROWID;

-- Dedupe keys, apart from jobs and history. until_at null: held until job_id is terminal. tenant '' is none.
CREATE TABLE dedupes (
  type        TEXT NOT NULL,
  tenant      TEXT NOT NULL,
  key         TEXT NOT NULL,
  job_id      TEXT NOT NULL,
  until_at    INTEGER,
  created_at  INTEGER NOT NULL,
  -- How the holder ended, for a key that outlives it (and its history).
  ended       TEXT,
  -- The one follow-up behind a started holder, and how long it will hold the key once it is the holder.
  follow_id   TEXT,
  follow_until INTEGER,
  PRIMARY KEY (type, tenant, key)
) WITHOUT ROWID;
CREATE INDEX dedupes_until ON dedupes (until_at) WHERE until_at IS NOT NULL;

-- Jobs made inside a handler with a key. Kept as long as the parent can run again.
CREATE TABLE children (
  parent_id  TEXT NOT NULL,
  key        TEXT NOT NULL,
  job_id     TEXT NOT NULL,
  PRIMARY KEY (parent_id, key)
) WITHOUT ROWID;

CREATE TABLE logs (
  job_id   TEXT NOT NULL,
  n        INTEGER NOT NULL,
  attempt  INTEGER NOT NULL,
  line     INTEGER NOT NULL,
  at       INTEGER NOT NULL,
  level    TEXT NOT NULL,
  message  TEXT NOT NULL,
  PRIMARY KEY (job_id, n),
  -- A report that is repeated after an unknown outcome brings its lines a second time.
  UNIQUE (job_id, attempt, line)
) WITHOUT ROWID;

-- What every decision writes; narrow, because SQLite writes a row whole.
CREATE TABLE schedules (
  seq          INTEGER PRIMARY KEY AUTOINCREMENT,
  id           TEXT NOT NULL UNIQUE,
  app          TEXT,
  tenant       TEXT,
  name         TEXT NOT NULL,
  generation   INTEGER NOT NULL,
  version      INTEGER NOT NULL,
  state        TEXT NOT NULL,
  due_at       INTEGER,
  waits_for    TEXT,
  created_at   INTEGER NOT NULL,
  updated_at   INTEGER NOT NULL,
  fence        INTEGER NOT NULL DEFAULT 0,
  lease_until  INTEGER,
  token        TEXT,
  node         TEXT
);
-- The user's side of a schedule: written when it is made or edited, and twice as long as the rest.
CREATE TABLE specs (
  seq   INTEGER PRIMARY KEY,
  spec  TEXT NOT NULL
);

CREATE INDEX schedules_due ON schedules (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX schedules_name ON schedules (name, id);
CREATE INDEX schedules_token ON schedules (token) WHERE token IS NOT NULL;
CREATE INDEX schedules_waits ON schedules (waits_for) WHERE waits_for IS NOT NULL;

-- The last generation of every schedule id ever used, so that a new life never reuses an old slot's identity.
CREATE TABLE generations (id TEXT PRIMARY KEY, generation INTEGER NOT NULL) WITHOUT ROWID;

-- The ledger: a run of consecutive slots with one decision is one row.
CREATE TABLE slots (
  schedule_id  TEXT NOT NULL,
  generation   INTEGER NOT NULL,
  from_at      INTEGER NOT NULL,
  to_at        INTEGER NOT NULL,
  count        INTEGER,
  decision     TEXT NOT NULL,
  reason       TEXT,
  node         TEXT NOT NULL,
  job_id       TEXT,
  -- When its first slot was decided, and when its last one was.
  decided_at      INTEGER NOT NULL,
  last_decided_at INTEGER NOT NULL,
  PRIMARY KEY (schedule_id, generation, from_at)
) WITHOUT ROWID;
CREATE INDEX slots_decided ON slots (decided_at);

-- Old ledger rows, folded into one for each span (a month) with counts by decision: a JSON list of [decision, count, exact].
CREATE TABLE compacted_months (
  schedule_id  TEXT NOT NULL,
  generation   INTEGER NOT NULL,
  start_at     INTEGER NOT NULL,
  from_at      INTEGER NOT NULL,
  to_at        INTEGER NOT NULL,
  counts       TEXT NOT NULL,
  PRIMARY KEY (schedule_id, generation, start_at)
) WITHOUT ROWID;

CREATE TABLE locks (
  name      TEXT PRIMARY KEY,
  fence     INTEGER NOT NULL,
  until     INTEGER NOT NULL,
  token     TEXT NOT NULL,
  holder    TEXT NOT NULL
) WITHOUT ROWID;

CREATE TABLE expirings (
  name        TEXT NOT NULL,
  key         TEXT NOT NULL,
  value       TEXT NOT NULL,
  expires_at  INTEGER NOT NULL,
  cleanup_id  TEXT,
  PRIMARY KEY (name, key)
) WITHOUT ROWID;
CREATE INDEX expirings_expires ON expirings (expires_at);

CREATE TABLE journal (
  scope     TEXT NOT NULL,
  key       TEXT NOT NULL,
  value     TEXT NOT NULL,
  until_at  INTEGER,
  PRIMARY KEY (scope, key)
) WITHOUT ROWID;
CREATE INDEX journal_until ON journal (until_at) WHERE until_at IS NOT NULL;

CREATE TABLE records (
  kind        TEXT NOT NULL,
  key         TEXT NOT NULL,
  value       TEXT NOT NULL,
  version     INTEGER NOT NULL,
  updated_at  INTEGER NOT NULL,
  PRIMARY KEY (kind, key)
) WITHOUT ROWID;

CREATE TABLE nodes (
  id                  TEXT PRIMARY KEY,
  info                TEXT NOT NULL,
  heartbeat_at        INTEGER NOT NULL,
  -- Steady time of the last heartbeat: a step of the wall clock forgets nobody.
  heartbeat_steady    INTEGER NOT NULL,
  drain_requested_at  INTEGER
) WITHOUT ROWID;

-- One row per call: entries is a JSON list of [id, type, status, event, percent].
CREATE TABLE changes (
  position  INTEGER PRIMARY KEY AUTOINCREMENT,
  at        INTEGER NOT NULL,
  entries   TEXT NOT NULL
);

CREATE TABLE audit (
  position  INTEGER PRIMARY KEY AUTOINCREMENT,
  at        INTEGER NOT NULL,
  actor     TEXT NOT NULL,
  action    TEXT NOT NULL,
  subject   TEXT NOT NULL,
  before    TEXT,
  after     TEXT,
  note      TEXT
);
CREATE INDEX audit_subject ON audit (subject, position);` },
];
