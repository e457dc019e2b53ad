// Made by `npm run generate` from sql/. Do not edit.

/** Every statement of this engine by file name, without comments. */
export const statements = {
  audit: {
    list: `SELECT t.now, a.* FROM (SELECT duly.now_f1($1::bigint) AS now) t
LEFT JOIN LATERAL (
  SELECT position, at, actor, action, subject, before, after, note FROM duly.audit
  WHERE position < $2::bigint ORDER BY position DESC LIMIT $3::bigint) a ON true
ORDER BY a.position DESC`,
    listSubject: `SELECT t.now, a.* FROM (SELECT duly.now_f1($1::bigint) AS now) t
LEFT JOIN LATERAL (
  SELECT position, at, actor, action, subject, before, after, note FROM duly.audit
  WHERE subject = $4::text AND position < $2::bigint ORDER BY position DESC LIMIT $3::bigint) a ON true
ORDER BY a.position DESC`,
  },
  call: {
    act: `SELECT duly.act_f1($1::bigint, $2::jsonb) AS reply`,
    applySchedules: `SELECT duly.apply_schedules_f1($1::bigint, $2::jsonb) AS reply`,
    cancel: `SELECT duly.cancel_f1($1::bigint, $2::jsonb) AS reply`,
    changes: `SELECT duly.changes_f1($1::bigint, $2::bigint, $3::integer) AS reply`,
    claimSchedules: `SELECT duly.claim_schedules_f1($1::bigint, $2::text, $3::text, $4::integer, $5::bigint, $6::jsonb) AS reply`,
    enqueue: `SELECT duly.enqueue_f1($1::bigint, $2::jsonb, $3::text[], $4::text[], $5::jsonb, $6::jsonb, $7::jsonb, $8::boolean) AS reply`,
    enqueueKeyed: `SELECT duly.enqueue_keyed_f1($1::bigint, $2::jsonb, $3::jsonb, $4::boolean) AS reply`,
    exchange: `SELECT duly.exchange_f1($1::bigint, $2::text[], $3::bigint[], $4::text[], $5::bigint[], $6::jsonb, $7::jsonb, $8::boolean) AS reply`,
    fire: `SELECT duly.fire_f1($1::bigint, $2::text, $3::bigint, $4::text[], $5::bigint[], $6::text[], $7::bigint[], $8::jsonb, $9::integer[], $10::text[], $11::text[], $12::bigint[], $13::bigint[], $14::text[], $15::text[], $16::bigint[], $17::text[], $18::text[], $19::jsonb, $20::bigint[], $21::jsonb, $22::text[]) AS reply`,
    heartbeat: `SELECT duly.heartbeat_f1($1::bigint, $2::bigint, $3::jsonb) AS reply`,
    acquire: `SELECT duly.acquire_f1($1::bigint, $2::text, $3::text, $4::text, $5::bigint) AS reply`,
    keepLocks: `SELECT duly.keep_locks_f1($1::bigint, $2::jsonb, $3::bigint) AS reply`,
    nodes: `SELECT duly.nodes_f1($1::bigint, $2::text, $3::text, $4::text, $5::text, $6::text, $7::bigint) AS reply`,
    prune: `SELECT duly.prune_f1($1::bigint, $2::integer, $3::bigint, $4::jsonb, $5::bigint, $6::bigint) AS reply`,
    putExpiring: `SELECT duly.put_expiring_f1($1::bigint, $2::jsonb) AS reply`,
    reap: `SELECT duly.reap_f1($1::bigint, $2::bigint, $3::integer, $4::bigint) AS reply`,
    records: `SELECT duly.records_f1($1::bigint, $2::jsonb) AS reply`,
    remember: `SELECT duly.remember_f1($1::bigint, $2::text, $3::text, $4::jsonb) AS reply`,
    report: `SELECT duly.report_f1($1::bigint, $2::jsonb, $3::bigint) AS reply`,
    reschedule: `SELECT duly.reschedule_f1($1::bigint, $2::jsonb) AS reply`,
    retry: `SELECT duly.retry_f1($1::bigint, $2::jsonb) AS reply`,
    settleInTransaction: `SELECT duly.settle_in_transaction_f1($1::bigint, $2::jsonb) AS reply`,
    keepDays: `SELECT duly.keep_days_f1($1::bigint, $2::integer, $3::integer) AS reply`,
  },
  clock: {
    now: `SELECT floor(extract(epoch FROM statement_timestamp()) * 1000)::bigint AS now`,
  },
  counts: {
    status: `WITH ready AS (SELECT status FROM duly.jobs WHERE rank IS NOT NULL LIMIT $2::bigint),
waiting AS (
  SELECT CASE WHEN status = 'SCHEDULED' AND due_at <= $1::bigint THEN 'PENDING' ELSE status END AS status
  FROM duly.jobs WHERE rank IS NULL AND status IN ('SCHEDULED', 'RETRYING') LIMIT $2::bigint),
running AS (SELECT 'RUNNING' AS status FROM duly.leases LIMIT $2::bigint),
blocked AS (SELECT status FROM duly.jobs WHERE status = 'BLOCKED' LIMIT $2::bigint),
failed AS (
  SELECT status FROM (
    (SELECT status FROM duly.dead LIMIT $2::bigint)
    UNION ALL (SELECT status FROM duly.finished WHERE status <> 'COMPLETED' AND status = 'FAILED' LIMIT $2::bigint)) f
  LIMIT $2::bigint),
cancelled AS (SELECT status FROM duly.finished WHERE status <> 'COMPLETED' AND status = 'CANCELLED' LIMIT $2::bigint),
expired AS (SELECT status FROM duly.finished WHERE status <> 'COMPLETED' AND status = 'EXPIRED' LIMIT $2::bigint),
completed AS (SELECT status FROM duly.finished WHERE status = 'COMPLETED' LIMIT $2::bigint)
SELECT status, count(*) AS count, sum(count(*)) OVER () AS scanned FROM ready GROUP BY status
UNION ALL SELECT status, count(*), sum(count(*)) OVER () FROM waiting GROUP BY status
UNION ALL SELECT status, count(*), sum(count(*)) OVER () FROM running GROUP BY status
UNION ALL SELECT status, count(*), sum(count(*)) OVER () FROM blocked GROUP BY status
UNION ALL SELECT status, count(*), count(*) FROM failed GROUP BY status
UNION ALL SELECT status, count(*), count(*) FROM cancelled GROUP BY status
UNION ALL SELECT status, count(*), count(*) FROM expired GROUP BY status
UNION ALL SELECT status, count(*), count(*) FROM completed GROUP BY status`,
    lanes: `SELECT queue, type, version, count(*) AS ready, min(due_at) AS oldest, sum(count(*)) OVER () AS scanned
FROM (SELECT queue, type, version, due_at FROM duly.jobs WHERE rank IS NOT NULL LIMIT $1::bigint) r
GROUP BY queue, type, version ORDER BY queue, type, version`,
    byNode: `SELECT coalesce(j.node, '') AS node, j.type, count(*) AS count
FROM (SELECT id FROM duly.leases LIMIT $1::bigint) l JOIN duly.jobs j ON j.id = l.id GROUP BY 1, 2 ORDER BY 1, 2`,
  },
  job: {
    get: `SELECT n.now, m.value AS pruned, j.*
FROM (SELECT duly.now_f1($1::bigint) AS now) n
LEFT JOIN duly.meta m ON m.key = 'pruned_created_at'
LEFT JOIN duly.found_f1(ARRAY(SELECT jsonb_array_elements_text($2::jsonb))) j ON true
ORDER BY j.finished_at DESC NULLS FIRST, j.seq DESC`,
    holder: `SELECT n.now, m.value AS pruned, j.*
FROM (SELECT duly.now_f1($1::bigint) AS now) n
LEFT JOIN duly.meta m ON m.key = 'pruned_created_at'
LEFT JOIN LATERAL (SELECT duly.holder_f1(n.now, $2::text, $3::text, $4::text) AS id) h ON true
LEFT JOIN LATERAL duly.found_f1(ARRAY[h.id]) j ON true
ORDER BY j.finished_at DESC NULLS FIRST, j.seq DESC`,
    logs: `SELECT t.now, l.n, l.attempt, l.at, l.level, l.message
FROM (SELECT duly.now_f1($1::bigint) AS now) t
LEFT JOIN LATERAL (SELECT * FROM duly.logs WHERE job_id = $2::text AND n > $3::bigint ORDER BY n LIMIT $4::bigint) l ON true
ORDER BY l.n`,
    now: `SELECT duly.now_f1($1::bigint) AS now`,
  },
  lock: {
    held: `SELECT t.now, l.* FROM (SELECT duly.now_f1($1::bigint) AS now) t
LEFT JOIN LATERAL (
  SELECT name, fence, until_at, holder FROM duly.locks
  WHERE name >= $2::text AND ($3::text IS NULL OR name < $3::text) AND name > $4::text AND until_at > t.now
  ORDER BY name LIMIT $5::bigint) l ON true
ORDER BY l.name`,
  },
  meta: {
    pruned: `SELECT value FROM duly.meta WHERE key = 'pruned_created_at'`,
    notePruned: `INSERT INTO duly.meta AS m (key, value) VALUES ('pruned_created_at', $1::bigint)
ON CONFLICT (key) DO UPDATE SET value = greatest(m.value, excluded.value)`,
  },
  schedule: {
    slots: `SELECT t.now, s.* FROM (SELECT duly.now_f1($1::bigint) AS now) t
LEFT JOIN LATERAL (
  SELECT generation, from_at, to_at, count, decision, reason, node, job_id, decided_at, last_decided_at FROM duly.slots
  WHERE schedule_id = $2::text AND to_at >= $3::bigint AND from_at < $4::bigint
  ORDER BY generation DESC, from_at DESC LIMIT $5::bigint) s ON true
ORDER BY s.generation DESC, s.from_at DESC`,
    compactedRows: `SELECT generation, start_at AS "startAt", from_at AS "fromAt", to_at AS "toAt", counts FROM duly.compacted_months
WHERE schedule_id = $1::text AND to_at >= $2::bigint AND from_at < $3::bigint ORDER BY generation DESC, start_at DESC LIMIT $4::bigint`,
  },
  stats: {
    outcomes: `SELECT type, count(*) FILTER (WHERE status = 'COMPLETED') AS completed, count(*) FILTER (WHERE status = 'FAILED') AS failed,
  count(*) FILTER (WHERE status = 'CANCELLED') AS cancelled, count(*) FILTER (WHERE status = 'EXPIRED') AS expired,
  percentile_disc(0.5) WITHIN GROUP (ORDER BY duration) FILTER (WHERE status = 'COMPLETED') AS "durationMsP50",
  percentile_disc(0.95) WITHIN GROUP (ORDER BY duration) FILTER (WHERE status = 'COMPLETED') AS "durationMsP95",
  percentile_disc(0.5) WITHIN GROUP (ORDER BY wait) AS "waitMsP50", percentile_disc(0.95) WITHIN GROUP (ORDER BY wait) AS "waitMsP95",
  max(finished_at) FILTER (WHERE status = 'COMPLETED') AS "lastCompletedAt"
FROM (
  SELECT type, status, finished_at - claimed_at AS duration, lateness_ms AS wait, finished_at, seq
  FROM duly.over_f1 WHERE finished_at >= $1::bigint AND ($2::jsonb IS NULL OR type = ANY (ARRAY(SELECT jsonb_array_elements_text($2::jsonb))))
  ORDER BY finished_at DESC, seq DESC LIMIT 100000) o
GROUP BY type ORDER BY max(finished_at) DESC, type`,
    outcomesOfSchedules: `SELECT s.id AS "scheduleId", o.*
FROM jsonb_array_elements_text($2::jsonb) WITH ORDINALITY AS s (id, place)
CROSS JOIN LATERAL (
  SELECT count(*) FILTER (WHERE status = 'COMPLETED') AS completed, count(*) FILTER (WHERE status = 'FAILED') AS failed,
    count(*) FILTER (WHERE status = 'CANCELLED') AS cancelled, count(*) FILTER (WHERE status = 'EXPIRED') AS expired,
    percentile_disc(0.5) WITHIN GROUP (ORDER BY duration) FILTER (WHERE status = 'COMPLETED') AS "durationMsP50",
    percentile_disc(0.95) WITHIN GROUP (ORDER BY duration) FILTER (WHERE status = 'COMPLETED') AS "durationMsP95",
    percentile_disc(0.5) WITHIN GROUP (ORDER BY wait) AS "waitMsP50", percentile_disc(0.95) WITHIN GROUP (ORDER BY wait) AS "waitMsP95",
    max(finished_at) FILTER (WHERE status = 'COMPLETED') AS "lastCompletedAt"
  FROM (
    SELECT status, finished_at - claimed_at AS duration, lateness_ms AS wait, finished_at
    FROM duly.over_f1 WHERE schedule_id = s.id AND finished_at >= $1::bigint ORDER BY finished_at DESC LIMIT $3::bigint) r) o
ORDER BY s.place`,
    ended: `SELECT
  (SELECT count(*) FROM (
    SELECT 1 FROM duly.finished WHERE finished_at >= k."fromAt" AND finished_at < k."beforeAt" LIMIT $2::bigint) f)
  + (SELECT count(*) FROM (
    SELECT 1 FROM duly.dead WHERE finished_at >= k."fromAt" AND finished_at < k."beforeAt" LIMIT $2::bigint) d) AS count
FROM jsonb_to_recordset($1::jsonb) AS k ("fromAt" bigint, "beforeAt" bigint) ORDER BY k."fromAt"`,
    endedOfSchedule: `SELECT
  (SELECT count(*) FROM (
    SELECT 1 FROM duly.finished WHERE finished_at >= k."fromAt" AND finished_at < k."beforeAt" AND schedule_id = $3::text LIMIT $2::bigint) f)
  + (SELECT count(*) FROM (
    SELECT 1 FROM duly.dead WHERE finished_at >= k."fromAt" AND finished_at < k."beforeAt" AND schedule_id = $3::text LIMIT $2::bigint) d) AS count
FROM jsonb_to_recordset($1::jsonb) AS k ("fromAt" bigint, "beforeAt" bigint) ORDER BY k."fromAt"`,
    odd: `SELECT (o.finished_at - $1::bigint) / $2::bigint AS step, o.status, count(*) AS count
FROM (
  SELECT finished_at, status FROM duly.finished
  WHERE status <> 'COMPLETED' AND status IN ('CANCELLED', 'EXPIRED', 'FAILED')
    AND finished_at >= $1::bigint AND finished_at < $3::bigint AND coalesce(type = $4::text, true)
  UNION ALL
  SELECT finished_at, status FROM duly.dead WHERE finished_at >= $1::bigint AND finished_at < $3::bigint AND coalesce(type = $4::text, true)) o
GROUP BY 1, 2`,
    sample: `SELECT k.step, count(*) AS "lookedCount",
  count(*) FILTER (WHERE o.wanted AND status = 'COMPLETED') AS completed, count(*) FILTER (WHERE o.wanted AND status = 'FAILED') AS failed,
  count(*) FILTER (WHERE o.wanted AND status = 'CANCELLED') AS cancelled, count(*) FILTER (WHERE o.wanted AND status = 'EXPIRED') AS expired,
  percentile_disc(0.5) WITHIN GROUP (ORDER BY duration) FILTER (WHERE o.wanted AND status = 'COMPLETED') AS "durationMsP50",
  percentile_disc(0.95) WITHIN GROUP (ORDER BY duration) FILTER (WHERE o.wanted AND status = 'COMPLETED') AS "durationMsP95",
  percentile_disc(0.5) WITHIN GROUP (ORDER BY wait) FILTER (WHERE o.wanted) AS "waitMsP50",
  percentile_disc(0.95) WITHIN GROUP (ORDER BY wait) FILTER (WHERE o.wanted) AS "waitMsP95",
  percentile_disc(0.99) WITHIN GROUP (ORDER BY wait) FILTER (WHERE o.wanted) AS "waitMsP99",
  percentile_disc(0.5) WITHIN GROUP (ORDER BY wait) FILTER (WHERE o.wanted AND origin = 'schedule') AS "latenessMsP50",
  percentile_disc(0.95) WITHIN GROUP (ORDER BY wait) FILTER (WHERE o.wanted AND origin = 'schedule') AS "latenessMsP95",
  percentile_disc(0.99) WITHIN GROUP (ORDER BY wait) FILTER (WHERE o.wanted AND origin = 'schedule') AS "latenessMsP99"
FROM jsonb_to_recordset($1::jsonb) AS k (step integer, "fromAt" bigint, "beforeAt" bigint, "limit" bigint)
CROSS JOIN LATERAL (
  SELECT coalesce(type = $2::text, true) AS wanted, status, origin, finished_at - claimed_at AS duration, lateness_ms AS wait
  FROM duly.over_f1 WHERE finished_at >= k."fromAt" AND finished_at < k."beforeAt" ORDER BY finished_at LIMIT k."limit") o
GROUP BY k.step`,
    sampleOfSchedule: `SELECT k.step, count(*) AS "lookedCount",
  count(*) FILTER (WHERE o.wanted AND status = 'COMPLETED') AS completed, count(*) FILTER (WHERE o.wanted AND status = 'FAILED') AS failed,
  count(*) FILTER (WHERE o.wanted AND status = 'CANCELLED') AS cancelled, count(*) FILTER (WHERE o.wanted AND status = 'EXPIRED') AS expired,
  percentile_disc(0.5) WITHIN GROUP (ORDER BY duration) FILTER (WHERE o.wanted AND status = 'COMPLETED') AS "durationMsP50",
  percentile_disc(0.95) WITHIN GROUP (ORDER BY duration) FILTER (WHERE o.wanted AND status = 'COMPLETED') AS "durationMsP95",
  percentile_disc(0.5) WITHIN GROUP (ORDER BY wait) FILTER (WHERE o.wanted) AS "waitMsP50",
  percentile_disc(0.95) WITHIN GROUP (ORDER BY wait) FILTER (WHERE o.wanted) AS "waitMsP95",
  percentile_disc(0.99) WITHIN GROUP (ORDER BY wait) FILTER (WHERE o.wanted) AS "waitMsP99",
  percentile_disc(0.5) WITHIN GROUP (ORDER BY wait) FILTER (WHERE o.wanted AND origin = 'schedule') AS "latenessMsP50",
  percentile_disc(0.95) WITHIN GROUP (ORDER BY wait) FILTER (WHERE o.wanted AND origin = 'schedule') AS "latenessMsP95",
  percentile_disc(0.99) WITHIN GROUP (ORDER BY wait) FILTER (WHERE o.wanted AND origin = 'schedule') AS "latenessMsP99"
FROM jsonb_to_recordset($1::jsonb) AS k (step integer, "fromAt" bigint, "beforeAt" bigint, "limit" bigint)
CROSS JOIN LATERAL (
  SELECT coalesce(type = $2::text, true) AS wanted, status, origin, finished_at - claimed_at AS duration, lateness_ms AS wait
  FROM duly.over_f1 WHERE finished_at >= k."fromAt" AND finished_at < k."beforeAt" AND schedule_id = $3::text ORDER BY finished_at LIMIT k."limit") o
GROUP BY k.step`,
  },
  upcoming: {
    steps: `WITH RECURSIVE one AS (
  (SELECT type FROM duly.jobs WHERE rank IS NULL AND status IN ('SCHEDULED', 'RETRYING') ORDER BY type LIMIT 1)
  UNION ALL
  SELECT (SELECT j.type FROM duly.jobs j
          WHERE j.rank IS NULL AND j.status IN ('SCHEDULED', 'RETRYING') AND j.type > one.type ORDER BY j.type LIMIT 1)
  FROM one WHERE one.type IS NOT NULL)
SELECT one.type, (w.due_at - $1::bigint) / $3::bigint AS step, count(*) AS count
FROM one CROSS JOIN LATERAL (
  SELECT due_at FROM duly.jobs
  WHERE rank IS NULL AND status IN ('SCHEDULED', 'RETRYING') AND type = one.type AND due_at > $1::bigint AND due_at < $2::bigint
    AND ($5::boolean OR tenant IS NOT DISTINCT FROM $6::text)
  ORDER BY due_at LIMIT $4::bigint + 1) w
GROUP BY 1, 2`,
    earliest: `WITH RECURSIVE one AS (
  (SELECT type FROM duly.jobs WHERE rank IS NULL AND status IN ('SCHEDULED', 'RETRYING') ORDER BY type LIMIT 1)
  UNION ALL
  SELECT (SELECT j.type FROM duly.jobs j
          WHERE j.rank IS NULL AND j.status IN ('SCHEDULED', 'RETRYING') AND j.type > one.type ORDER BY j.type LIMIT 1)
  FROM one WHERE one.type IS NOT NULL)
SELECT w.id
FROM one CROSS JOIN LATERAL (
  SELECT id, due_at FROM duly.jobs
  WHERE rank IS NULL AND status IN ('SCHEDULED', 'RETRYING') AND type = one.type AND due_at > $1::bigint AND due_at < $2::bigint
    AND ($4::boolean OR tenant IS NOT DISTINCT FROM $5::text)
  ORDER BY due_at, id LIMIT $3::bigint) w
ORDER BY w.due_at, w.id LIMIT $3::bigint`,
  },
  value: {
    get: `SELECT t.now, k.i, e.value, e.expires_at FROM (SELECT duly.now_f1($1::bigint) AS now) t
LEFT JOIN LATERAL ROWS FROM (jsonb_to_recordset($2::jsonb) AS (name text, key text)) WITH ORDINALITY AS k (name, key, i) ON true
LEFT JOIN duly.expirings e ON e.name = k.name AND e.key = k.key AND e.expires_at > t.now
ORDER BY k.i`,
  },
} as const;

/** Every step of the schema in order; numbers are consecutive from 1. */
export const schemaSteps: readonly { number: number; name: string; sql: string }[] = [
  { number: 1, name: 'initial', sql: `-- Written for the schema "duly"; the name is replaced by that of the store before anything runs.
-- Text that is compared or ordered is COLLATE "C": the order of bytes, whatever the database's locale.

-- Small facts of the store: schema version, the lowest code it serves, what was pruned.
CREATE TABLE duly.meta (key text COLLATE "C" PRIMARY KEY, value bigint NOT NULL);
-- Names this store, so that a transaction of another database that holds a store too is not taken for one of ours.
INSERT INTO duly.meta (key, value) VALUES ('store', floor(random() * 9007199254740991)::bigint);

-- That the store was moved away, or is being moved here: at most one row. While it is fenced the names of all tables but this one and meta
-- begin with moved_, so that whoever comes with an ordinary statement finds nothing.
CREATE TABLE duly.transfers (
  role   text NOT NULL,
  move   text NOT NULL,
  place  text NOT NULL,
  at     bigint NOT NULL
);

-- One counter for the whole store. Gaps are fine; CACHE 1, or two sessions could give numbers out of order.
CREATE SEQUENCE duly.fence AS bigint MINVALUE 1 CACHE 1;

-- Live jobs. The only index over all of them is the one by id: a claim writes a new version of the row, and every full index a new entry.
CREATE TABLE duly.jobs (
  id                   text COLLATE "C" NOT NULL,
  -- The order in which jobs entered the store; breaks ties of rank.
  seq                  bigint NOT NULL GENERATED ALWAYS AS IDENTITY,
  type                 text COLLATE "C" NOT NULL,
  version              integer NOT NULL,
  queue                text COLLATE "C" NOT NULL,
  tenant               text COLLATE "C",
  priority             integer NOT NULL,
  status               text COLLATE "C" NOT NULL,
  reason               text,
  -- 0: ordinary. 1: lost once, claimed by itself. 2: must run alone in its process.
  solo                 smallint NOT NULL DEFAULT 0,
  -- Not null while it may be taken: PENDING, or RETRYING and due.
  rank                 bigint,
  rank_offset          bigint NOT NULL,
  due_at               bigint NOT NULL,
  expire_at            bigint,
  created_at           bigint NOT NULL,
  updated_at           bigint NOT NULL,
  started_at           bigint,
  lateness_ms          bigint,
  -- The last fence it was given. While it runs the lease's rules.
  fence                bigint NOT NULL DEFAULT 0,
  node                 text,
  claimed_at           bigint,
  begun_at             bigint,
  attempt              integer NOT NULL DEFAULT 0,
  spent                integer NOT NULL DEFAULT 0,
  max_attempts         integer NOT NULL,
  losses               integer NOT NULL DEFAULT 0,
  begun_losses         integer NOT NULL DEFAULT 0,
  -- While it runs the lease's progress rules.
  percent              double precision NOT NULL DEFAULT 0,
  message              text,
  step                 double precision,
  step_of              double precision,
  cancel_requested_at  bigint,
  cancelled_by         text,
  origin               text COLLATE "C" NOT NULL,
  dedupe_key           text COLLATE "C",
  serial               text COLLATE "C",
  parent_id            text COLLATE "C",
  parent_key           text COLLATE "C",
  copy_of              text COLLATE "C",
  schedule_id          text COLLATE "C",
  -- The slot without its details, as JSON; its instant and \`allow\` stand beside it for the indexes.
  slot                 text,
  slot_at              bigint,
  slot_allow           boolean NOT NULL DEFAULT false,
  slot_details         text,
  -- JSON is kept as text: jsonb refuses what JSON allows (the escape of U+0000).
  policy               text NOT NULL,
  retention_ms         bigint NOT NULL,
  dead_retention_ms    bigint NOT NULL,
  metadata             text,
  error                text,
  attempts             text NOT NULL DEFAULT '[]',
  input                text NOT NULL,
  CONSTRAINT jobs_id PRIMARY KEY (id) WITH (fillfactor = 90)
) WITH (
  fillfactor = 70,
  -- By a count and not by a share: the table is small when all is well, and what a claim leaves behind must go soon.
  autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000,
  autovacuum_vacuum_insert_scale_factor = 0, autovacuum_vacuum_insert_threshold = 50000,
  autovacuum_analyze_scale_factor = 0, autovacuum_analyze_threshold = 20000,
  autovacuum_vacuum_cost_delay = 0
);
CREATE INDEX jobs_ready ON duly.jobs (solo, type, version, queue, rank, seq) WHERE rank IS NOT NULL;
-- By type first: a flood of due jobs of one type must not stand before those of another.
CREATE INDEX jobs_waiting ON duly.jobs (type, due_at, seq) WHERE rank IS NULL AND status IN ('SCHEDULED', 'RETRYING');
CREATE INDEX jobs_deadline ON duly.jobs (expire_at) WHERE expire_at IS NOT NULL AND started_at IS NULL;
CREATE INDEX jobs_blocked ON duly.jobs (due_at) WHERE status = 'BLOCKED';
CREATE INDEX jobs_serial ON duly.jobs (serial, due_at) WHERE serial IS NOT NULL AND status = 'SCHEDULED';
CREATE INDEX jobs_schedule ON duly.jobs (schedule_id, seq) WHERE schedule_id IS NOT NULL;
-- Which backfills a slot has. Other runs of a slot are named by the ledger, so only these few are indexed.
CREATE INDEX jobs_backfill ON duly.jobs (schedule_id, slot_at) WHERE origin = 'backfill';
CREATE INDEX jobs_parent ON duly.jobs (parent_id) WHERE parent_id IS NOT NULL;

-- One narrow row for every job that runs. Heartbeats and progress touch nothing else, and as no index holds what they
-- change, they are heap-only updates. There are as many rows as jobs run, so who looks for ended leases reads them all.
CREATE TABLE duly.leases (
  id           text COLLATE "C" PRIMARY KEY,
  -- Of the job: of leases that end at once the one of the older job is taken over first.
  seq          bigint NOT NULL,
  fence        bigint NOT NULL,
  node         text NOT NULL,
  -- The claim that made it; null once a reaper has it.
  token        text COLLATE "C",
  -- Whether its job has neither a dedupe key nor a serial place: then its end touches less.
  plain        boolean NOT NULL,
  until_at     bigint NOT NULL,
  begun_at     bigint,
  cancel_at    bigint,
  percent      double precision NOT NULL DEFAULT 0,
  message      text,
  step         double precision,
  step_of      double precision,
  reported_at  bigint
) WITH (
  fillfactor = 50,
  autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000,
  autovacuum_analyze_scale_factor = 0, autovacuum_analyze_threshold = 20000,
  autovacuum_vacuum_cost_delay = 0
);

-- Jobs that are over. Partitioned by the day on which they may be forgotten: retention is per task, so a partition by
-- finish day could only be dropped by the longest of them.
CREATE TABLE duly.finished (
  id                   text COLLATE "C" NOT NULL,
  seq                  bigint NOT NULL,
  type                 text COLLATE "C" NOT NULL,
  version              integer NOT NULL,
  queue                text COLLATE "C" NOT NULL,
  tenant               text COLLATE "C",
  priority             integer NOT NULL,
  status               text COLLATE "C" NOT NULL,
  reason               text,
  rank_offset          bigint NOT NULL,
  due_at               bigint NOT NULL,
  expire_at            bigint,
  created_at           bigint NOT NULL,
  updated_at           bigint NOT NULL,
  started_at           bigint,
  lateness_ms          bigint,
  finished_at          bigint NOT NULL,
  prune_at             bigint NOT NULL,
  fence                bigint NOT NULL,
  node                 text,
  claimed_at           bigint,
  begun_at             bigint,
  attempt              integer NOT NULL,
  spent                integer NOT NULL,
  max_attempts         integer NOT NULL,
  losses               integer NOT NULL,
  begun_losses         integer NOT NULL,
  percent              double precision NOT NULL,
  message              text,
  step                 double precision,
  step_of              double precision,
  cancel_requested_at  bigint,
  cancelled_by         text,
  origin               text COLLATE "C" NOT NULL,
  dedupe_key           text COLLATE "C",
  serial               text COLLATE "C",
  parent_id            text COLLATE "C",
  parent_key           text COLLATE "C",
  copy_of              text COLLATE "C",
  schedule_id          text COLLATE "C",
  slot                 text,
  slot_at              bigint,
  slot_allow           boolean NOT NULL,
  slot_details         text,
  policy               text NOT NULL,
  retention_ms         bigint NOT NULL,
  dead_retention_ms    bigint NOT NULL,
  metadata             text,
  error                text,
  result               text,
  attempts             text NOT NULL,
  input                text NOT NULL
) PARTITION BY RANGE (prune_at);
CREATE INDEX finished_id ON duly.finished (id);
-- History grows in the order of this instant, so a new entry always goes to the last page; kept beside the rows it could not be measured.
CREATE INDEX finished_at ON duly.finished (finished_at);
-- The few that did not complete are counted whatever there is besides.
CREATE INDEX finished_odd ON duly.finished (status, finished_at, type) WHERE status <> 'COMPLETED';
CREATE INDEX finished_schedule ON duly.finished (schedule_id, finished_at) WHERE schedule_id IS NOT NULL;
-- The latest of a tenant, of a key and of a parent may lie behind millions of others. Jobs without them are not in it.
CREATE INDEX finished_tenant ON duly.finished (tenant, id) WHERE tenant IS NOT NULL;
CREATE INDEX finished_key ON duly.finished (dedupe_key, id) WHERE dedupe_key IS NOT NULL;
CREATE INDEX finished_parent ON duly.finished (parent_id, id) WHERE parent_id IS NOT NULL;
CREATE INDEX finished_backfill ON duly.finished (schedule_id, slot_at) WHERE origin = 'backfill';
-- What belongs to no day that was made ahead.
CREATE TABLE duly.finished_other PARTITION OF duly.finished DEFAULT WITH (autovacuum_vacuum_cost_delay = 0);
CREATE INDEX finished_other_prune ON duly.finished_other (prune_at);

-- Dead letters: FAILED, until retried, discarded or past their own retention. The columns of history.
CREATE TABLE duly.dead (LIKE duly.finished);
ALTER TABLE duly.dead ADD CONSTRAINT dead_id PRIMARY KEY (id);
CREATE INDEX dead_at ON duly.dead (finished_at);
CREATE INDEX dead_prune ON duly.dead (prune_at);
CREATE INDEX dead_schedule ON duly.dead (schedule_id, finished_at) WHERE schedule_id IS NOT NULL;
CREATE INDEX dead_tenant ON duly.dead (tenant, id) WHERE tenant IS NOT NULL;
CREATE INDEX dead_key ON duly.dead (dedupe_key, id) WHERE dedupe_key IS NOT NULL;
CREATE INDEX dead_parent ON duly.dead (parent_id, id) WHERE parent_id IS NOT NULL;
CREATE INDEX dead_backfill ON duly.dead (schedule_id, slot_at) WHERE origin = 'backfill';

-- Shut gates of BLOCKED jobs. ref is a job's id, or for kind serial the place.
-- order_at is the due instant where waiters are let in one by one (serial), else 0.
CREATE TABLE duly.gates (
  kind      text COLLATE "C" NOT NULL,
  ref       text COLLATE "C" NOT NULL,
  order_at  bigint NOT NULL,
  seq       bigint NOT NULL,
  job       text COLLATE "C" NOT NULL,
  -- By ref first: the end of a job asks once for all kinds, and nearly always there is nothing.
  PRIMARY KEY (ref, kind, order_at, seq)
);
CREATE INDEX gates_job ON duly.gates (job);

-- Who holds the one place of a serial key.
CREATE TABLE duly.places (
  kind  text COLLATE "C" NOT NULL,
  ref   text COLLATE "C" NOT NULL,
  job   text COLLATE "C" NOT NULL,
  PRIMARY KEY (kind, ref)
);

-- Serial places whose holder ended in a transaction of the user's own. Whoever claims next gives them on; as a rule it is empty.
CREATE TABLE duly.left_places (
  n       bigint NOT NULL GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  tenant  text COLLATE "C",
  serial  text COLLATE "C" NOT NULL,
  job     text COLLATE "C" NOT NULL
);

-- Dedupe keys, apart from jobs and history. until_at null: held until job_id is terminal. tenant '' is none.
CREATE TABLE duly.dedupes (
  type          text COLLATE "C" NOT NULL,
  tenant        text COLLATE "C" NOT NULL,
  key           text COLLATE "C" NOT NULL,
  job_id        text COLLATE "C" NOT NULL,
  until_at      bigint,
  created_at    bigint NOT NULL,
  -- How the holder ended, for a key that outlives it (and its history).
  ended         text,
  -- The one follow-up behind a started holder, and how long it will hold the key once it is the holder.
  follow_id     text COLLATE "C",
  follow_until  bigint,
  PRIMARY KEY (type, tenant, key)
);
CREATE INDEX dedupes_until ON duly.dedupes (until_at) WHERE until_at IS NOT NULL;

-- Jobs made inside a handler with a key. Kept as long as the parent can run again.
CREATE TABLE duly.children (
  parent_id  text COLLATE "C" NOT NULL,
  key        text COLLATE "C" NOT NULL,
  job_id     text COLLATE "C" NOT NULL,
  PRIMARY KEY (parent_id, key)
);

CREATE TABLE duly.logs (
  job_id   text COLLATE "C" NOT NULL,
  n        bigint NOT NULL,
  attempt  integer NOT NULL,
  line     bigint NOT NULL,
  at       bigint NOT NULL,
  level    text NOT NULL,
  message  text NOT NULL,
  PRIMARY KEY (job_id, n),
  -- A report that is repeated after an unknown outcome brings its lines a second time.
  UNIQUE (job_id, attempt, line)
);

-- What every decision writes: narrow, and in few indexes, because each decision is a new version of the row and a new entry in all of them.
CREATE TABLE duly.schedules (
  id          text COLLATE "C" PRIMARY KEY,
  -- The order in which they were made: of those that are due at once the older one is decided first.
  seq         bigint NOT NULL GENERATED ALWAYS AS IDENTITY,
  generation  integer NOT NULL,
  version     bigint NOT NULL,
  state       text NOT NULL,
  due_at      bigint,
  waits_for   text COLLATE "C",
  updated_at  bigint NOT NULL
) WITH (
  fillfactor = 70,
  autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 2000, autovacuum_vacuum_cost_delay = 0
);
CREATE INDEX schedules_due ON duly.schedules (due_at, seq) WHERE due_at IS NOT NULL;
CREATE INDEX schedules_waits ON duly.schedules (waits_for) WHERE waits_for IS NOT NULL;

-- The user's side of a schedule: written when it is made or edited, and twice as long as the rest.
CREATE TABLE duly.specs (
  id          text COLLATE "C" PRIMARY KEY,
  app         text COLLATE "C",
  tenant      text COLLATE "C",
  name        text COLLATE "C" NOT NULL,
  spec        text NOT NULL,
  created_at  bigint NOT NULL
);
CREATE INDEX specs_name ON duly.specs (name, id);

-- Schedules that are being decided: one row for a claim, however many it took. A lease holds while its schedule has the version it had then, so
-- that who decides or edits one ends its lease without looking here. The row goes with the last decision, so there are about as many as nodes.
CREATE TABLE duly.schedule_leases (
  fence     bigint PRIMARY KEY,
  token     text COLLATE "C" NOT NULL,
  node      text NOT NULL,
  until_at  bigint NOT NULL,
  ids       text[] COLLATE "C" NOT NULL,
  versions  bigint[] NOT NULL
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 500, autovacuum_vacuum_cost_delay = 0);

-- The last generation of every schedule id ever used, so that a new life never reuses an old slot's identity.
CREATE TABLE duly.generations (id text COLLATE "C" PRIMARY KEY, generation integer NOT NULL);

-- The ledger: a run of consecutive slots with one decision is one row.
CREATE TABLE duly.slots (
  schedule_id      text COLLATE "C" NOT NULL,
  generation       integer NOT NULL,
  from_at          bigint NOT NULL,
  to_at            bigint NOT NULL,
  count            bigint,
  decision         text NOT NULL,
  reason           text,
  node             text NOT NULL,
  job_id           text COLLATE "C",
  -- When its first slot was decided, and when its last one was.
  decided_at       bigint NOT NULL,
  last_decided_at  bigint NOT NULL,
  PRIMARY KEY (schedule_id, generation, from_at)
);
CREATE INDEX slots_decided ON duly.slots (decided_at);

-- Old ledger rows, folded into one for each span (a month) with counts by decision: a JSON list of [decision, count, exact].
CREATE TABLE duly.compacted_months (
  schedule_id  text COLLATE "C" NOT NULL,
  generation   integer NOT NULL,
  start_at     bigint NOT NULL,
  from_at      bigint NOT NULL,
  to_at        bigint NOT NULL,
  counts       text NOT NULL,
  PRIMARY KEY (schedule_id, generation, start_at)
);

CREATE TABLE duly.locks (
  name      text COLLATE "C" PRIMARY KEY,
  fence     bigint NOT NULL,
  until_at  bigint NOT NULL,
  token     text NOT NULL,
  holder    text NOT NULL
);

CREATE TABLE duly.expirings (
  name        text COLLATE "C" NOT NULL,
  key         text COLLATE "C" NOT NULL,
  value       text NOT NULL,
  expires_at  bigint NOT NULL,
  cleanup_id  text COLLATE "C",
  PRIMARY KEY (name, key)
);
CREATE INDEX expirings_expires ON duly.expirings (expires_at);

CREATE TABLE duly.journal (
  scope     text COLLATE "C" NOT NULL,
  key       text COLLATE "C" NOT NULL,
  value     text NOT NULL,
  until_at  bigint,
  PRIMARY KEY (scope, key)
);
CREATE INDEX journal_until ON duly.journal (until_at) WHERE until_at IS NOT NULL;

CREATE TABLE duly.records (
  kind        text COLLATE "C" NOT NULL,
  key         text COLLATE "C" NOT NULL,
  value       text NOT NULL,
  version     bigint NOT NULL,
  updated_at  bigint NOT NULL,
  PRIMARY KEY (kind, key)
);

CREATE TABLE duly.nodes (
  id                  text COLLATE "C" PRIMARY KEY,
  info                text NOT NULL,
  heartbeat_at        bigint NOT NULL,
  drain_requested_at  bigint
);

-- The feed, one row for changes that were written together: entries is a JSON list [ids, types, statuses, event, percents]; what is the
-- same for all of them stands there once. By columns, because a list for every change would cost more than the change. Changes are numbered by their readers (feed_pages),
-- because a number drawn before the commit would let a reader pass one that is not there yet.
CREATE TABLE duly.changes (
  seq      bigint NOT NULL GENERATED ALWAYS AS IDENTITY,
  xid      xid8 NOT NULL DEFAULT pg_current_xact_id(),
  at       bigint NOT NULL,
  n        integer NOT NULL,
  -- Out of line and as it is: compressing a long list costs more than writing it.
  entries  text NOT NULL
) WITH (autovacuum_vacuum_cost_delay = 0);
ALTER TABLE duly.changes ALTER COLUMN entries SET STORAGE EXTERNAL;
CREATE INDEX changes_xid ON duly.changes (xid);
CREATE INDEX changes_seq ON duly.changes (seq);

-- What became visible between two looks: n changes, numbered from first_position on, in the rows \`seqs\`.
CREATE TABLE duly.feed_pages (
  page            bigint NOT NULL GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  first_position  bigint NOT NULL,
  n               bigint NOT NULL,
  at              bigint NOT NULL,
  seen            pg_snapshot NOT NULL,
  seqs            bigint[] NOT NULL
);
CREATE INDEX feed_pages_position ON duly.feed_pages (first_position);
INSERT INTO duly.feed_pages (first_position, n, at, seen, seqs) VALUES (1, 0, 0, pg_current_snapshot(), '{}');

CREATE TABLE duly.audit (
  position  bigint NOT NULL GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  at        bigint NOT NULL,
  actor     text NOT NULL,
  action    text NOT NULL,
  subject   text COLLATE "C" NOT NULL,
  before    text,
  after     text,
  note      text
);
CREATE INDEX audit_subject ON duly.audit (subject, position);` },
];

/** All functions and views of this code. The hash says whether a store has this text. */
export const functionSet = {
  number: 1,
  isReleased: true,
  hash: 4141475983351298,
  sql: `SET LOCAL check_function_bodies = off;
-- Jobs as readers see them, live and over, with the same columns.

CREATE VIEW duly.live_f1 AS
SELECT j.id, j.type, j.version, j.queue, j.tenant, j.priority, j.input, j.metadata, j.policy, coalesce(l.fence, j.fence) AS fence, j.attempt, j.spent, j.max_attempts, j.losses, j.begun_losses, CASE WHEN l.id IS NULL THEN j.begun_at ELSE l.begun_at END AS begun_at, j.created_at, j.due_at, j.claimed_at, j.origin, j.slot, j.parent_id, j.parent_key, j.cancel_requested_at, j.status, j.reason, j.serial, j.copy_of, j.dedupe_key, j.schedule_id, j.started_at, j.lateness_ms, greatest(j.updated_at, l.reported_at) AS updated_at, NULL::bigint AS finished_at, j.expire_at, j.node, CASE WHEN l.id IS NULL THEN j.percent ELSE l.percent END AS percent, CASE WHEN l.id IS NULL THEN j.message ELSE l.message END AS message, CASE WHEN l.id IS NULL THEN j.step ELSE l.step END AS step, CASE WHEN l.id IS NULL THEN j.step_of ELSE l.step_of END AS step_of, j.cancelled_by, j.error, NULL::text AS result, j.attempts,
  j.seq, false AS dead, l.until_at AS lease_until, j.slot_at, j.slot_details,
  CASE WHEN j.status = 'BLOCKED' THEN (
    SELECT json_agg(json_build_object('kind', g.kind, 'ref', g.ref) ORDER BY g.kind, g.ref) FROM duly.gates g WHERE g.job = j.id) END AS gates
FROM duly.jobs j LEFT JOIN duly.leases l ON l.id = j.id;

CREATE VIEW duly.over_f1 AS
SELECT id, type, version, queue, tenant, priority, input, metadata, policy, fence, attempt, spent, max_attempts, losses, begun_losses, begun_at, created_at, due_at, claimed_at, origin, slot, parent_id, parent_key, cancel_requested_at, status, reason, serial, copy_of, dedupe_key, schedule_id, started_at, lateness_ms, updated_at, finished_at, expire_at, node, percent, message, step, step_of, cancelled_by, error, result, attempts,
  seq, true AS dead, NULL::bigint AS lease_until, slot_at, slot_details, NULL::json AS gates
FROM duly.dead
UNION ALL
SELECT id, type, version, queue, tenant, priority, input, metadata, policy, fence, attempt, spent, max_attempts, losses, begun_losses, begun_at, created_at, due_at, claimed_at, origin, slot, parent_id, parent_key, cancel_requested_at, status, reason, serial, copy_of, dedupe_key, schedule_id, started_at, lateness_ms, updated_at, finished_at, expire_at, node, percent, message, step, step_of, cancelled_by, error, result, attempts,
  seq, false AS dead, NULL::bigint AS lease_until, slot_at, slot_details, NULL::json AS gates
FROM duly.finished;

-- Actions on many jobs, each with an audit row in the same transaction.

-- Records that a job was deleted, so that a repeat of the call that created it does not create it again. A call whose reply was lost is
-- repeated within seconds; a process that was suspended may repeat it hours later.
CREATE FUNCTION duly.remember_deletion_f1(p_now bigint, p_id text, p_status text, p_due bigint) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO duly.journal AS j (scope, key, value, until_at)
  VALUES ('deleted', p_id, json_build_object('status', p_status, 'dueAt', p_due)::text, p_now + 86400000)
  ON CONFLICT (scope, key) DO UPDATE SET value = excluded.value, until_at = excluded.until_at;
END $$;

-- The state of a job that has ended, with its row locked. All null: it has not ended.
CREATE FUNCTION duly.ended_state_f1(
  p_id text, OUT status text, OUT due_at bigint, OUT fence bigint, OUT updated_at bigint, OUT dead boolean
) LANGUAGE plpgsql AS $$
BEGIN
  SELECT j.status, j.due_at, j.fence, j.updated_at, true INTO status, due_at, fence, updated_at, dead
  FROM duly.dead j WHERE j.id = p_id FOR UPDATE;
  IF FOUND THEN RETURN; END IF;
  SELECT j.status, j.due_at, j.fence, j.updated_at, false INTO status, due_at, fence, updated_at, dead
  FROM duly.finished j WHERE j.id = p_id ORDER BY j.seq DESC LIMIT 1 FOR UPDATE;
END $$;

-- Does one action to one job if its status allows it and it is as expected. Missing expectations are not compared.
CREATE FUNCTION duly.apply_action_f1(p_now bigint, p_target jsonb, p_action text, p_actor text, p_note text) RETURNS json LANGUAGE plpgsql AS $$
DECLARE
  v_id text := p_target ->> 'id';
  v_job duly.jobs := duly.job_state_f1(v_id);
  v_live boolean := v_job.id IS NOT NULL;
  v_ended record;
  v_over duly.finished;
  v_status text := v_job.status;
  v_due bigint := v_job.due_at;
  v_fence bigint := v_job.fence;
  v_updated bigint := v_job.updated_at;
  v_dead boolean := false;
BEGIN
  IF NOT v_live THEN
    v_ended := duly.ended_state_f1(v_id);
    -- It is missing, or a retry that ran at the same time brought it back.
    IF v_ended.status IS NULL THEN RETURN duly.not_live_f1(v_id); END IF;
    v_status := v_ended.status;
    v_due := v_ended.due_at;
    v_fence := v_ended.fence;
    v_updated := v_ended.updated_at;
    v_dead := v_ended.dead;
  END IF;
  IF v_fence <> (p_target ->> 'expectFence')::bigint
    OR (CASE WHEN v_status = 'SCHEDULED' AND v_due <= p_now THEN 'PENDING' ELSE v_status END) <> (p_target ->> 'expectStatus')
    OR (v_status <> 'RUNNING' AND v_updated <> (p_target ->> 'expectUpdatedAt')::bigint) THEN
    RETURN duly.changed_item_f1(v_id, 'refused', v_status, v_due);
  END IF;
  IF p_action IN ('cancel', 'terminate') THEN
    IF v_live THEN RETURN duly.cancel_job_f1(p_now, v_job, CASE p_action WHEN 'cancel' THEN 'ask' ELSE 'terminate' END, p_actor, p_note); END IF;
    -- A repeat of a cancel that took effect.
    RETURN duly.changed_item_f1(v_id, CASE v_status WHEN 'CANCELLED' THEN 'unchanged' ELSE 'refused' END, v_status, v_due);
  END IF;
  -- It also knows a job that was retried already.
  IF p_action = 'retry' THEN RETURN duly.retry_job_f1(p_now, v_id, p_actor, p_note); END IF;
  IF p_action = 'delete' THEN
    -- A running job belongs to a worker: it is cancelled first, then deleted.
    IF v_status = 'RUNNING' THEN RETURN duly.changed_item_f1(v_id, 'refused', v_status, v_due); END IF;
    IF v_live THEN
      PERFORM duly.audit_job_f1(p_now, p_actor, p_note, 'delete', v_job, NULL);
      DELETE FROM duly.jobs WHERE id = v_id;
      PERFORM duly.changed_f1(p_now, v_id, v_job.type, 'CANCELLED', 'deleted', v_job.percent);
      PERFORM duly.set_free_f1(p_now, v_job, 'deleted');
      PERFORM duly.remember_deletion_f1(p_now, v_id, 'CANCELLED', v_due);
    ELSE
      v_over := duly.take_history_f1(v_id);
      PERFORM duly.audit_f1(p_now, p_actor, 'delete', 'job:' || v_id, json_build_object('status', v_status), NULL, p_note);
      PERFORM duly.changed_f1(p_now, v_id, v_over.type, v_status, 'deleted', v_over.percent);
      PERFORM duly.remember_deletion_f1(p_now, v_id, v_status, v_due);
    END IF;
    PERFORM duly.forget_f1(ARRAY[v_id]);
    RETURN duly.changed_item_f1(v_id, 'changed', NULL, NULL);
  END IF;
  -- discard: no dead letter any more, but history as any other ended job.
  IF NOT v_dead THEN RETURN duly.changed_item_f1(v_id, 'refused', v_status, v_due); END IF;
  DELETE FROM duly.dead WHERE id = v_id RETURNING * INTO v_over;
  v_over.prune_at := p_now + v_over.retention_ms;
  v_over.updated_at := p_now;
  INSERT INTO duly.finished SELECT v_over.*;
  PERFORM duly.audit_f1(p_now, p_actor, 'discard', 'job:' || v_id, json_build_object('dead', true), json_build_object('dead', false), p_note);
  RETURN duly.changed_item_f1(v_id, 'changed', v_status, v_due);
END $$;

-- call: act
CREATE FUNCTION duly.act_f1(p_now bigint, p_groups jsonb) RETURNS text LANGUAGE plpgsql
SET lock_timeout = '2s'
SET plan_cache_mode = force_generic_plan SET jit = off SET enable_seqscan = off SET enable_bitmapscan = off
SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
  v_now bigint := duly.begin_f1(p_now);
  v_group jsonb;
  v_target jsonb;
  v_items json[];
  v_replies json[] := '{}';
BEGIN
  PERFORM duly.lock_dependents_f1(ARRAY(
    SELECT t ->> 'id' FROM jsonb_array_elements(p_groups) g CROSS JOIN jsonb_array_elements(g -> 'targets') t));
  FOR v_group IN SELECT * FROM jsonb_array_elements(p_groups) LOOP
    v_items := '{}';
    FOR v_target IN SELECT * FROM jsonb_array_elements(v_group -> 'targets') LOOP
      v_items := v_items || duly.apply_action_f1(v_now, v_target, v_group ->> 'action', v_group ->> 'actor', v_group ->> 'note');
    END LOOP;
    v_replies := v_replies || json_build_object('ok', true, 'items', array_to_json(v_items));
  END LOOP;
  RETURN json_build_object('now', v_now, 'notifications', duly.notifications_f1(), 'groups', array_to_json(v_replies))::text;
END $$;

CREATE FUNCTION duly.schedule_audit_f1(s duly.schedules, p_spec text) RETURNS json LANGUAGE plpgsql AS $$
BEGIN
  RETURN json_build_object('version', s.version, 'spec', p_spec::json, 'dueAt', s.due_at);
END $$;

CREATE FUNCTION duly.apply_schedule_f1(p_now bigint, p_actor text, p_change jsonb) RETURNS json LANGUAGE plpgsql AS $$
DECLARE
  v_id text := p_change ->> 'id';
  v_expect bigint := (p_change ->> 'expectVersion')::bigint;
  v_expect_generation integer := (p_change ->> 'expectGeneration')::integer;
  v_before duly.schedules;
  v_after duly.schedules;
  v_spec duly.specs;
  v_generation integer;
  v_due bigint;
  v_one jsonb;
  v_job duly.jobs;
  v_run text;
BEGIN
  SELECT * INTO v_before FROM duly.schedules WHERE id = v_id FOR UPDATE;
  IF v_before.version IS DISTINCT FROM v_expect THEN
    PERFORM duly.refuse_f1('records_conflict',
      format('Schedule "%s" is at version %s, not %s.', v_id, coalesce(v_before.version::text, 'none'), coalesce(v_expect::text, 'none')),
      'Someone changed it meanwhile. Read it again and repeat the change.',
      json_build_object('id', v_id, 'version', v_before.version));
  END IF;
  IF v_expect_generation IS NOT NULL AND v_before.generation IS DISTINCT FROM v_expect_generation THEN
    PERFORM duly.refuse_f1('records_conflict',
      format('Schedule "%s" was deleted and created again: it is in generation %s, not %s.', v_id,
        coalesce(v_before.generation::text, 'none'), v_expect_generation),
      'Read it again and repeat the change.', json_build_object('id', v_id, 'version', v_before.version));
  END IF;
  IF v_before.id IS NOT NULL THEN SELECT * INTO v_spec FROM duly.specs WHERE id = v_id; END IF;
  IF p_change ->> 'op' = 'put' AND NOT duly.all_wait_f1(p_change -> 'slotDetails') THEN
    PERFORM duly.refuse_f1('records_conflict',
      format('A run of schedule "%s" whose slot details change no longer waits.', v_id),
      'Read the schedule again and repeat the change.', json_build_object('id', v_id, 'version', v_before.version));
  END IF;
  PERFORM duly.add_notification_f1('s');
  IF p_change ->> 'op' = 'delete' THEN
    FOR v_run IN SELECT id FROM duly.jobs WHERE schedule_id = v_id AND started_at IS NULL ORDER BY seq LOOP
      v_job := duly.job_state_f1(v_run);
      IF v_job.id IS NOT NULL THEN
        PERFORM duly.cancel_job_f1(p_now, v_job, 'ask', p_actor, 'schedule ' || (p_change ->> 'action'));
      END IF;
    END LOOP;
    FOR v_one IN SELECT * FROM jsonb_array_elements(p_change -> 'slots') LOOP
      PERFORM duly.add_slot_f1(p_now, v_id, v_before.generation, v_one);
    END LOOP;
    DELETE FROM duly.schedules WHERE id = v_id;
    DELETE FROM duly.specs WHERE id = v_id;
    -- All of it: the ledger stays, and whoever reads it must know what it is the ledger of.
    PERFORM duly.audit_f1(p_now, p_actor, p_change ->> 'action', 'schedule:' || v_id, json_build_object('version', v_before.version,
      'spec', v_spec.spec::json, 'dueAt', v_before.due_at, 'app', v_spec.app, 'tenant', v_spec.tenant, 'name', v_spec.name,
      'generation', v_before.generation, 'state', v_before.state::json), NULL, p_change ->> 'note');
    RETURN json_build_object('id', v_id, 'version', v_before.version, 'generation', v_before.generation);
  END IF;
  v_due := (p_change ->> 'dueAt')::bigint;
  -- A job of this write has not ended: if it ends in this write, its end makes the schedule due.
  IF NOT jsonb_path_exists(p_change -> 'jobs', '$[*] ? (@.id == $id)', jsonb_build_object('id', p_change ->> 'waitsFor'))
    AND duly.is_over_f1(p_change ->> 'waitsFor')
  THEN
    v_due := p_now;
  END IF;
  IF v_before.id IS NULL THEN
    INSERT INTO duly.generations AS g (id, generation) VALUES (v_id, 1)
    ON CONFLICT (id) DO UPDATE SET generation = g.generation + 1 RETURNING generation INTO v_generation;
    INSERT INTO duly.schedules (id, generation, version, state, due_at, waits_for, updated_at)
    VALUES (v_id, v_generation, 1, p_change ->> 'state', v_due, p_change ->> 'waitsFor', p_now)
    ON CONFLICT (id) DO NOTHING;
    IF NOT FOUND THEN
      PERFORM duly.refuse_f1('records_conflict', format('Schedule "%s" is there already.', v_id),
        'Someone created it meanwhile. Read it and repeat the change.', json_build_object('id', v_id));
    END IF;
    INSERT INTO duly.specs (id, app, tenant, name, spec, created_at)
    VALUES (v_id, p_change ->> 'app', p_change ->> 'tenant', p_change ->> 'name', p_change ->> 'spec', p_now);
  ELSE
    v_generation := v_before.generation;
    -- A new version ends the lease of whoever is deciding by the old one.
    UPDATE duly.schedules SET version = version + 1, state = p_change ->> 'state', due_at = v_due, waits_for = p_change ->> 'waitsFor',
      updated_at = p_now
    WHERE id = v_id;
    UPDATE duly.specs SET app = p_change ->> 'app', tenant = p_change ->> 'tenant', name = p_change ->> 'name', spec = p_change ->> 'spec'
    WHERE id = v_id;
  END IF;
  PERFORM duly.end_others_f1(p_now, p_change -> 'cancel', p_actor);
  FOR v_one IN SELECT * FROM jsonb_array_elements(p_change -> 'jobs') LOOP PERFORM duly.create_job_f1(p_now, v_one, false); END LOOP;
  FOR v_one IN SELECT * FROM jsonb_array_elements(p_change -> 'slots') LOOP
    PERFORM duly.add_slot_f1(p_now, v_id, v_generation, v_one);
  END LOOP;
  PERFORM duly.set_slot_details_f1(p_change -> 'slotDetails');
  SELECT * INTO v_after FROM duly.schedules WHERE id = v_id;
  PERFORM duly.audit_f1(p_now, p_actor, p_change ->> 'action', 'schedule:' || v_id,
    CASE WHEN v_before.id IS NOT NULL THEN duly.schedule_audit_f1(v_before, v_spec.spec) END,
    duly.schedule_audit_f1(v_after, p_change ->> 'spec'), p_change ->> 'note');
  RETURN json_build_object('id', v_id, 'version', v_after.version, 'generation', v_generation);
END $$;

-- call: applySchedules
CREATE FUNCTION duly.apply_schedules_f1(p_now bigint, p_groups jsonb) RETURNS text LANGUAGE plpgsql
SET lock_timeout = '2s'
SET plan_cache_mode = force_generic_plan SET jit = off SET enable_seqscan = off SET enable_bitmapscan = off
SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
  v_now bigint := duly.begin_f1(p_now);
  v_group jsonb;
  v_change jsonb;
  v_items json[];
  v_replies json[] := '{}';
  v_state text;
  v_message text;
  v_hint text;
  v_detail text;
BEGIN
  -- All rows of the call in one order, so that two calls with the same schedules cannot wait for each other.
  PERFORM 1 FROM duly.schedules WHERE id = ANY (ARRAY(
    SELECT c ->> 'id' FROM jsonb_array_elements(p_groups) g CROSS JOIN jsonb_array_elements(g -> 'changes') c)) ORDER BY id FOR UPDATE;
  FOR v_group IN SELECT * FROM jsonb_array_elements(p_groups) LOOP
    BEGIN
      v_items := '{}';
      FOR v_change IN SELECT * FROM jsonb_array_elements(v_group -> 'changes') LOOP
        v_items := v_items || duly.apply_schedule_f1(v_now, v_group ->> 'actor', v_change);
      END LOOP;
      v_replies := v_replies || json_build_object('ok', true, 'items', array_to_json(v_items));
    EXCEPTION WHEN SQLSTATE 'DU001' OR SQLSTATE 'DU002' THEN
      GET STACKED DIAGNOSTICS v_state = RETURNED_SQLSTATE, v_message = MESSAGE_TEXT, v_hint = PG_EXCEPTION_HINT, v_detail = PG_EXCEPTION_DETAIL;
      v_replies := v_replies || duly.refusal_f1(v_state, v_message, v_hint, v_detail);
    END;
  END LOOP;
  RETURN json_build_object('now', v_now, 'notifications', duly.notifications_f1(), 'groups', array_to_json(v_replies))::text;
END $$;

-- What every call begins and ends with: its instant, its notifications, the feed, the audit, and refusals.

CREATE FUNCTION duly.now_f1(p_now bigint) RETURNS bigint LANGUAGE sql STABLE AS $$
  -- Not clock_timestamp(): one value for the whole call, and an index range may depend on it.
  SELECT coalesce(p_now, floor(extract(epoch FROM statement_timestamp()) * 1000)::bigint)
$$;

-- Notifications are collected for the length of the call. The first line has one letter for each: jobs of any type, new jobs, cancel, schedules,
-- locks. The client knows the types of the new jobs; the types of other jobs follow as JSON, which has no line breaks, one in each line.
CREATE FUNCTION duly.add_notification_f1(p_letter text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE v_all text := coalesce(current_setting('duly_work.notifications', true), '');
BEGIN
  IF strpos(split_part(v_all, chr(10), 1), p_letter) = 0 THEN PERFORM set_config('duly_work.notifications', p_letter || v_all, true); END IF;
END $$;

-- A job of this type is ready, or may be earlier than a sleeping worker expects. More than 8 types become any.
CREATE FUNCTION duly.add_job_notification_f1(p_type text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  v_all text := coalesce(current_setting('duly_work.notifications', true), '');
  v_line text := chr(10) || to_json(p_type)::text;
BEGIN
  IF strpos(split_part(v_all, chr(10), 1), 'j') > 0 OR strpos(v_all || chr(10), v_line || chr(10)) > 0 THEN RETURN; END IF;
  IF cardinality(string_to_array(v_all, chr(10))) > 8 THEN PERFORM duly.add_notification_f1('j');
  ELSE PERFORM set_config('duly_work.notifications', v_all || v_line, true);
  END IF;
END $$;

CREATE FUNCTION duly.drop_notification_f1(p_letter text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  v_all text := coalesce(current_setting('duly_work.notifications', true), '');
  v_letters text := split_part(v_all, chr(10), 1);
BEGIN
  PERFORM set_config('duly_work.notifications', replace(v_letters, p_letter, '') || substr(v_all, length(v_letters) + 1), true);
END $$;

CREATE FUNCTION duly.notifications_f1() RETURNS text LANGUAGE sql AS $$
  SELECT coalesce(current_setting('duly_work.notifications', true), '')
$$;

-- Begins a call: no notifications yet, and the instant that rules it.
CREATE FUNCTION duly.begin_f1(p_now bigint) RETURNS bigint LANGUAGE plpgsql AS $$
-- An expression costs less than a PERFORM, which is a statement.
DECLARE v_none text := set_config('duly_work.notifications', '', true);
BEGIN
  RETURN duly.now_f1(p_now);
END $$;

-- Makes this call wait, as every write does, until a synchronous standby has all that was seen here. A commit that was on its way to the standby
-- when its session or the server ended is seen by others though the standby may never get it; an answer that rests on it and writes nothing
-- itself would confirm what a failover loses.
CREATE FUNCTION duly.confirm_f1() RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_logical_emit_message(true, 'duly', '');
END $$;

-- Notes a change for the feed.
CREATE FUNCTION duly.changed_f1(p_now bigint, p_id text, p_type text, p_status text, p_event text, p_percent double precision)
RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO duly.changes (at, n, entries)
  VALUES (p_now, 1, json_build_array(json_build_array(p_id), p_type, p_status, p_event, p_percent)::text);
END $$;

-- Writes who did what to a promise already made.
CREATE FUNCTION duly.audit_f1(p_now bigint, p_actor text, p_action text, p_subject text, p_before json, p_after json, p_note text)
RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO duly.audit (at, actor, action, subject, before, after, note)
  VALUES (p_now, p_actor, p_action, p_subject, p_before::text, p_after::text, p_note);
END $$;

-- What refuses one group of a call. The engine reads the code, the hint and the details (as JSON).
CREATE FUNCTION duly.refuse_f1(p_code text, p_message text, p_hint text, p_details json) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION USING
    ERRCODE = CASE p_code WHEN 'records_conflict' THEN 'DU002' ELSE 'DU001' END,
    MESSAGE = p_message, HINT = p_hint, DETAIL = p_details::text;
END $$;

-- The answer to a refused group.
CREATE FUNCTION duly.refusal_f1(p_state text, p_message text, p_hint text, p_detail text) RETURNS json LANGUAGE sql AS $$
  SELECT json_build_object('ok', false, 'code', CASE p_state WHEN 'DU002' THEN 'records_conflict' ELSE 'group_refused' END,
    'message', p_message, 'hint', p_hint, 'details', p_detail::json)
$$;

-- The instant of something that was done to rows which are locked now. A call goes by the instant at which it began, and may see what
-- others, who began after it, have committed meanwhile: it would start a job before it was made, or before the one it waited for had ended.
-- An instant that was given rules.
CREATE FUNCTION duly.after_lock_f1(p_now bigint) RETURNS bigint LANGUAGE sql VOLATILE AS $$
  SELECT CASE WHEN p_now = floor(extract(epoch FROM statement_timestamp()) * 1000)::bigint
    THEN floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint ELSE p_now END
$$;

-- Cancels what a target names; a key names its holder and the follow-up behind it.
CREATE FUNCTION duly.cancel_target_f1(p_now bigint, p_target jsonb, p_mode text, p_actor text, p_note text) RETURNS json LANGUAGE plpgsql AS $$
DECLARE
  v_id text := p_target ->> 'id';
  v_follow text;
  v_job duly.jobs;
  v_item json;
BEGIN
  IF p_target ? 'key' THEN
    SELECT follow_id INTO v_follow FROM duly.dedupes
    WHERE type = p_target ->> 'type' AND tenant = coalesce(p_target ->> 'tenant', '') AND key = p_target ->> 'key' FOR UPDATE;
    v_id := duly.holder_f1(p_now, p_target ->> 'type', p_target ->> 'tenant', p_target ->> 'key');
    IF v_id IS NULL THEN RETURN duly.changed_item_f1(NULL, 'missing', NULL, NULL); END IF;
    -- First, or the end of the holder would let it run.
    IF v_follow IS DISTINCT FROM v_id AND v_follow IS NOT NULL THEN
      v_job := duly.job_state_f1(v_follow);
      IF v_job.id IS NOT NULL THEN PERFORM duly.cancel_job_f1(p_now, v_job, p_mode, p_actor, p_note); END IF;
    END IF;
  END IF;
  v_job := duly.job_state_f1(v_id);
  IF v_job.id IS NOT NULL THEN RETURN duly.cancel_job_f1(p_now, v_job, p_mode, p_actor, p_note); END IF;
  v_item := duly.not_live_f1(v_id);
  -- A repeat of a cancel that took effect.
  IF v_item ->> 'status' = 'CANCELLED' THEN
    RETURN duly.changed_item_f1(v_id, 'unchanged', 'CANCELLED', (v_item ->> 'dueAt')::bigint);
  END IF;
  RETURN v_item;
END $$;

-- call: cancel
CREATE FUNCTION duly.cancel_f1(p_now bigint, p_groups jsonb) RETURNS text LANGUAGE plpgsql
SET lock_timeout = '2s'
SET plan_cache_mode = force_generic_plan SET jit = off SET enable_seqscan = off SET enable_bitmapscan = off
SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
  v_now bigint := duly.begin_f1(p_now);
  v_group jsonb;
  v_target jsonb;
  v_items json[];
  v_replies json[] := '{}';
BEGIN
  PERFORM duly.lock_dependents_f1(ARRAY(
    SELECT t ->> 'id' FROM jsonb_array_elements(p_groups) g CROSS JOIN jsonb_array_elements(g -> 'targets') t WHERE t ? 'id'
    UNION SELECT unnest(ARRAY[d.job_id, d.follow_id])
    FROM jsonb_array_elements(p_groups) g CROSS JOIN jsonb_array_elements(g -> 'targets') t
    JOIN duly.dedupes d ON d.type = ANY (ARRAY[t ->> 'type']) AND d.tenant = coalesce(t ->> 'tenant', '') AND d.key = t ->> 'key'));
  FOR v_group IN SELECT * FROM jsonb_array_elements(p_groups) LOOP
    v_items := '{}';
    FOR v_target IN SELECT * FROM jsonb_array_elements(v_group -> 'targets') LOOP
      v_items := v_items || duly.cancel_target_f1(v_now, v_target, v_group ->> 'mode', v_group ->> 'actor', v_group ->> 'note');
    END LOOP;
    v_replies := v_replies || json_build_object('ok', true, 'items', array_to_json(v_items));
  END LOOP;
  RETURN json_build_object('now', v_now, 'notifications', duly.notifications_f1(), 'groups', array_to_json(v_replies))::text;
END $$;

-- A store that pg_dump brought here from a server which had counted its transactions further: by that count nothing of this one would ever be new. What
-- was not numbered there is numbered now, with all that was made since, and from here on the count of this server rules. Rows keep no number of
-- the other one that this one has yet to reach: it would make them new a second time. 3 is older than every transaction.
CREATE FUNCTION duly.recount_changes_f1(p_last duly.feed_pages) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  v_numbered bigint := coalesce((SELECT max(s.seq) FROM duly.feed_pages p CROSS JOIN LATERAL unnest(p.seqs) AS s (seq)), 0);
BEGIN
  WITH seen AS (SELECT pg_current_snapshot() AS seen),
  new AS (
    SELECT coalesce(array_agg(c.seq ORDER BY c.seq), '{}') AS seqs, coalesce(sum(c.n), 0) AS n, max(c.at) AS at FROM duly.changes c
    WHERE (c.seq > v_numbered OR NOT pg_visible_in_snapshot(c.xid, p_last.seen)) AND c.xid IS DISTINCT FROM pg_current_xact_id_if_assigned()),
  aged AS (
    UPDATE duly.changes c SET xid = '3'::xid8
    WHERE c.xid >= (SELECT pg_snapshot_xmax(seen) FROM seen) AND c.xid IS DISTINCT FROM pg_current_xact_id_if_assigned())
  INSERT INTO duly.feed_pages (first_position, n, at, seen, seqs)
  SELECT p_last.first_position + p_last.n, new.n, coalesce(new.at, p_last.at), seen.seen, new.seqs FROM new, seen;
END $$;

-- Numbers what became visible since the last look, in order of \`seq\`, which is drawn while the job's row is locked: the changes of one job
-- are in their order. One at a time; whoever does not get the lock reads the pages that are there.
CREATE FUNCTION duly.number_changes_f1(p_now bigint) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  v_last duly.feed_pages;
  v_seqs bigint[];
  v_n bigint;
  v_at bigint;
BEGIN
  IF NOT pg_try_advisory_xact_lock(hashtext('duly.feed')) THEN RETURN; END IF;
  SELECT * INTO v_last FROM duly.feed_pages ORDER BY page DESC LIMIT 1;
  IF pg_snapshot_xmax(v_last.seen) > pg_snapshot_xmax(pg_current_snapshot()) THEN
    PERFORM duly.recount_changes_f1(v_last);
    RETURN;
  END IF;
  -- The snapshot that is kept is the one of this very statement: what it does not see comes in the next page, and nothing in two.
  WITH seen AS (SELECT pg_current_snapshot() AS seen),
  new AS (
    SELECT array_agg(c.seq ORDER BY c.seq) AS seqs, sum(c.n) AS n, max(c.at) AS at FROM duly.changes c
    WHERE c.xid >= pg_snapshot_xmin(v_last.seen) AND NOT pg_visible_in_snapshot(c.xid, v_last.seen)
      -- Our own changes, in a user's transaction, are not over yet.
      AND pg_visible_in_snapshot(c.xid, (SELECT seen FROM seen)))
  INSERT INTO duly.feed_pages (first_position, n, at, seen, seqs)
  SELECT v_last.first_position + v_last.n, new.n, new.at, seen.seen, new.seqs FROM new, seen WHERE new.n > 0;
END $$;

-- The feed after a position: pages of rows, each with the position of its first change.
-- call: changes
CREATE FUNCTION duly.changes_f1(p_now bigint, p_after bigint, p_limit integer) RETURNS text LANGUAGE plpgsql
SET lock_timeout = '2s'
SET plan_cache_mode = force_generic_plan SET jit = off SET enable_seqscan = off SET enable_bitmapscan = off
SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
  v_now bigint := duly.begin_f1(p_now);
  v_end bigint;
  v_first bigint;
  v_rows json;
BEGIN
  PERFORM duly.number_changes_f1(v_now);
  SELECT first_position + n - 1 INTO v_end FROM duly.feed_pages ORDER BY page DESC LIMIT 1;
  IF p_after IS NULL OR p_after >= v_end THEN
    RETURN json_build_object('now', v_now, 'end', v_end, 'gap', false, 'rows', '[]'::json)::text;
  END IF;
  -- The oldest position that is kept: pages lose their rows when they are forgotten, the newest page stays to know the place.
  SELECT first_position INTO v_first FROM duly.feed_pages WHERE cardinality(seqs) > 0 ORDER BY page LIMIT 1;
  IF v_first IS NULL OR p_after + 1 < v_first THEN
    RETURN json_build_object('now', v_now, 'end', v_end, 'gap', true, 'rows', '[]'::json)::text;
  END IF;
  SELECT json_agg(json_build_array(r.position, r.at, r.entries::json) ORDER BY r.position) INTO v_rows FROM (
    SELECT p.first_position + sum(c.n) OVER (PARTITION BY p.page ORDER BY s.i) - c.n AS position, c.n, c.at, c.entries
    FROM (
      SELECT * FROM duly.feed_pages
      WHERE first_position >= (SELECT max(first_position) FROM duly.feed_pages WHERE first_position <= p_after + 1)
        AND first_position <= p_after + p_limit
      ORDER BY first_position) p
    CROSS JOIN LATERAL unnest(p.seqs) WITH ORDINALITY AS s (seq, i)
    JOIN duly.changes c ON c.seq = ANY (ARRAY[s.seq])) r
  WHERE r.position + r.n > p_after + 1 AND r.position <= p_after + p_limit;
  RETURN json_build_object('now', v_now, 'end', v_end, 'gap', false, 'rows', coalesce(v_rows, '[]'::json))::text;
END $$;

-- Forgets the oldest pages of the feed and their rows. The newest page stays, emptied, so that no position is given twice.
CREATE FUNCTION duly.prune_changes_f1(p_now bigint, p_before bigint, p_limit integer) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
  v_page record;
  v_gone integer;
  v_sum integer := 0;
BEGIN
  PERFORM duly.number_changes_f1(p_now);
  FOR v_page IN
    SELECT page, seqs FROM duly.feed_pages WHERE cardinality(seqs) > 0 AND at < p_before ORDER BY page LIMIT p_limit
  LOOP
    DELETE FROM duly.changes WHERE seq = ANY (v_page.seqs);
    GET DIAGNOSTICS v_gone = ROW_COUNT;
    v_sum := v_sum + v_gone;
    UPDATE duly.feed_pages SET seqs = '{}' WHERE page = v_page.page;
    EXIT WHEN v_sum >= p_limit;
  END LOOP;
  DELETE FROM duly.feed_pages WHERE cardinality(seqs) = 0 AND page < (SELECT max(page) FROM duly.feed_pages);
  RETURN v_sum;
END $$;

-- Leases due schedules, or those named, to one node. One fence for all that a claim takes: each of them had a smaller one before.
--
-- Nothing is written to the schedules themselves. Two claims cannot take the same one: each locks what it takes, passing over what others have
-- locked, and then looks whether somebody's lease was committed in between. A lease that has ended is taken over only by who can lock its
-- row: a decision that comes late locks it too, and either finds what is left of it or is waited for by nobody.
--
-- \`l.fence > 0\` is always true. It lets the planner read the leases by their index, so that no other choice of the statement looks cheap beside it.
-- call: claimSchedules
CREATE FUNCTION duly.claim_schedules_f1(p_now bigint, p_node text, p_token text, p_limit integer, p_lease_ms bigint, p_ids jsonb)
RETURNS text LANGUAGE plpgsql
-- The memory is for the list of what is leased, which is looked up for every schedule that is due.
SET work_mem = '8MB' SET lock_timeout = '2s'
SET plan_cache_mode = force_generic_plan SET jit = off SET enable_seqscan = off SET enable_bitmapscan = off
SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
  v_now bigint := duly.begin_f1(p_now);
  v_fence bigint;
  v_ids text[];
  v_versions bigint[];
  -- Leases that are there, and those of them that have ended and are ours to take over.
  v_seen bigint[];
  v_any_over boolean;
  v_over bigint[] := '{}';
  v_new bigint[];
  v_full boolean := false;
  v_last_due bigint := -9223372036854775808;
  v_last_seq bigint := 0;
  v_columns json;
  -- The specs, and then the states.
  v_texts text;
  v_any_waits boolean;
  v_runs json;
  v_counts json;
  v_waited json;
  v_next bigint;
  v_leased bigint;
BEGIN
  SELECT array_agg(l.fence), bool_or(l.until_at <= v_now) INTO v_seen, v_any_over FROM duly.schedule_leases l;
  IF v_seen IS NOT NULL THEN
    -- A repeat: what is still held of what it was given.
    SELECT l.fence, array_agg(s.id ORDER BY u.n) INTO v_fence, v_ids
    FROM duly.schedule_leases l CROSS JOIN LATERAL unnest(l.ids, l.versions) WITH ORDINALITY AS u (id, version, n)
    JOIN duly.schedules s ON s.id = ANY (ARRAY[u.id]) AND s.version = u.version
    WHERE l.token = p_token GROUP BY l.fence ORDER BY l.fence DESC LIMIT 1;
    v_full := coalesce(cardinality(v_ids), 0) >= p_limit;
  END IF;
  IF v_ids IS NULL THEN
    IF v_any_over THEN
      SELECT coalesce(array_agg(o.fence), '{}') INTO v_over FROM (
        SELECT l.fence FROM duly.schedule_leases l WHERE l.until_at <= v_now FOR UPDATE SKIP LOCKED) o;
    END IF;
    IF p_ids IS NULL THEN
      SELECT array_agg(d.id), array_agg(d.version), count(*) >= p_limit INTO v_ids, v_versions, v_full FROM (
        SELECT s.id, s.version FROM duly.schedules s
        WHERE s.due_at IS NOT NULL AND s.due_at <= v_now AND (v_seen IS NULL OR (s.id, s.version) NOT IN (
          SELECT u.id, u.version FROM duly.schedule_leases l CROSS JOIN LATERAL unnest(l.ids, l.versions) AS u (id, version)
          WHERE l.fence > 0 AND NOT l.fence = ANY (v_over)))
        ORDER BY s.due_at, s.seq LIMIT greatest(p_limit, 0) FOR UPDATE OF s SKIP LOCKED) d;
    ELSE
      SELECT array_agg(d.id ORDER BY d.n), array_agg(d.version ORDER BY d.n) INTO v_ids, v_versions FROM (
        SELECT s.id, s.version, i.n FROM jsonb_array_elements_text(p_ids) WITH ORDINALITY AS i (id, n)
        JOIN duly.schedules s ON s.id = ANY (ARRAY[i.id])
        WHERE i.n <= p_limit AND (v_seen IS NULL OR (s.id, s.version) NOT IN (
          SELECT u.id, u.version FROM duly.schedule_leases l CROSS JOIN LATERAL unnest(l.ids, l.versions) AS u (id, version)
          WHERE l.fence > 0 AND NOT l.fence = ANY (v_over)))
        FOR UPDATE OF s) d;
    END IF;
    IF v_ids IS NOT NULL THEN
      -- Whoever was given one of these before we locked it has committed by now.
      SELECT array_agg(l.fence) INTO v_new FROM duly.schedule_leases l WHERE NOT l.fence = ANY (coalesce(v_seen, '{}'));
      IF v_new IS NOT NULL THEN
        SELECT array_agg(t.id ORDER BY t.n), array_agg(t.version ORDER BY t.n) INTO v_ids, v_versions
        FROM unnest(v_ids, v_versions) WITH ORDINALITY AS t (id, version, n)
        WHERE (t.id, t.version) NOT IN (
          SELECT u.id, u.version FROM duly.schedule_leases l CROSS JOIN LATERAL unnest(l.ids, l.versions) AS u (id, version)
          WHERE l.fence = ANY (v_new));
      END IF;
    END IF;
    IF v_over <> '{}' THEN PERFORM duly.leave_leases_f1(v_over, coalesce(v_ids, '{}')); END IF;
    IF v_ids IS NOT NULL THEN
      v_fence := nextval('duly.fence');
      INSERT INTO duly.schedule_leases (fence, token, node, until_at, ids, versions)
      VALUES (v_fence, p_token, p_node, v_now + p_lease_ms, v_ids, v_versions);
    END IF;
  END IF;
  IF v_ids IS NOT NULL THEN
    -- By columns, in the order in which verbs/schedules.ts reads them; one that is null is null for all. What follows counts
    -- by the place in v_ids, so the order is asked for: of two schedules the planner looks up the ids in either way round.
    SELECT json_build_array(json_agg(c.id), CASE WHEN count(c.app) > 0 THEN json_agg(c.app) END,
        CASE WHEN count(c.tenant) > 0 THEN json_agg(c.tenant) END, json_agg(c.name), json_agg(c.generation), json_agg(c.version),
        json_agg(c.due_at), CASE WHEN count(c.waits_for) > 0 THEN json_agg(c.waits_for) END,
        json_agg(c.created_at), json_agg(c.updated_at)), count(c.waits_for) > 0,
      -- No JSON holds this character as it is, so texts behind it need no escapes: to write them, and to read them, would be half of a claim.
      string_agg(c.spec, chr(30)) || chr(30) || string_agg(c.state, chr(30))
    INTO v_columns, v_any_waits, v_texts FROM (
      SELECT s.id, p.app, p.tenant, p.name, s.generation, s.version, replace(p.spec, chr(30), ' ') AS spec, replace(s.state, chr(30), ' ') AS state,
        s.due_at, s.waits_for, p.created_at, s.updated_at
      FROM unnest(v_ids) WITH ORDINALITY AS i (id, n)
      JOIN duly.schedules s ON s.id = ANY (ARRAY[i.id]) JOIN duly.specs p ON p.id = ANY (ARRAY[i.id]) ORDER BY i.n) c;
    SELECT json_agg(json_build_array(i.n - 1, r.id, r.status, r.slot_at, r.origin, r.due_at, r.cancel_requested_at) ORDER BY i.n, r.seq) INTO v_runs
    FROM unnest(v_ids) WITH ORDINALITY AS i (id, n) CROSS JOIN LATERAL (
      SELECT j.id, j.status, j.slot_at, j.origin, j.due_at, j.cancel_requested_at, j.seq FROM duly.jobs j
      WHERE j.schedule_id IS NOT NULL AND j.schedule_id = i.id AND NOT j.slot_allow ORDER BY j.seq LIMIT 10) r;
    IF v_runs IS NOT NULL THEN
      -- Fewer than the page holds are all there are.
      SELECT json_agg(json_build_array(f.n, (
          SELECT count(*) FROM duly.jobs j WHERE j.schedule_id IS NOT NULL AND j.schedule_id = v_ids[f.n + 1] AND NOT j.slot_allow)))
      INTO v_counts FROM (
        SELECT (r ->> 0)::integer AS n FROM json_array_elements(v_runs) r GROUP BY 1 HAVING count(*) >= 10) f;
    END IF;
    IF v_any_waits THEN
      SELECT json_agg(json_build_array(i.n - 1, h.id, h.status, h.finished_at)) INTO v_waited
      FROM unnest(v_ids) WITH ORDINALITY AS i (id, n) JOIN duly.schedules s ON s.id = ANY (ARRAY[i.id]) CROSS JOIN LATERAL (
        SELECT o.id, o.status, o.finished_at FROM (
          SELECT d.id, d.status, d.finished_at FROM duly.dead d WHERE d.id = s.waits_for
          UNION ALL SELECT d.id, d.status, d.finished_at FROM duly.finished d WHERE d.id = s.waits_for) o
        ORDER BY o.finished_at DESC LIMIT 1) h
      WHERE coalesce(s.waits_for IS NOT NULL, false);
    END IF;
  END IF;
  IF v_full AND p_ids IS NULL AND v_versions IS NOT NULL THEN
    -- All before the last one it took are taken, by this claim or by others.
    SELECT s.due_at, s.seq INTO v_last_due, v_last_seq FROM duly.schedules s WHERE s.id = v_ids[cardinality(v_ids)];
  END IF;
  SELECT s.due_at INTO v_next FROM duly.schedules s
  WHERE s.due_at IS NOT NULL AND (s.due_at, s.seq) > (v_last_due, v_last_seq)
    AND ((v_seen IS NULL AND v_fence IS NULL) OR (s.id, s.version) NOT IN (
      SELECT u.id, u.version FROM duly.schedule_leases l CROSS JOIN LATERAL unnest(l.ids, l.versions) AS u (id, version)
      WHERE l.fence > 0 AND NOT l.fence = ANY (v_over)))
  ORDER BY s.due_at, s.seq LIMIT 1;
  IF v_seen IS NOT NULL THEN
    -- Also when another claim's lease ends: whoever holds it may be dead, and then somebody else must decide.
    SELECT min(l.until_at) INTO v_leased FROM duly.schedule_leases l
    WHERE l.token <> p_token AND l.until_at > v_now AND EXISTS (
      SELECT 1 FROM unnest(l.ids, l.versions) AS u (id, version) JOIN duly.schedules s ON s.id = ANY (ARRAY[u.id]) AND s.version = u.version
      WHERE coalesce(s.due_at IS NOT NULL, false));
  END IF;
  RETURN json_build_object('now', v_now, 'fence', v_fence, 'columns', v_columns, 'runs', v_runs, 'counts', v_counts, 'waited', v_waited,
    'nextDueAt', least(v_next, v_leased), 'more', p_ids IS NULL AND v_full)::text || coalesce(chr(30) || v_texts, '');
END $$;

-- Claiming jobs. A lane is (solo, type, version, queue); its ready jobs are one stretch of the index jobs_ready, by rank.
--
-- Jobs under lease are returned by columns, because an object for every job would cost more than the claim: \`columns\` holds a list for each field
-- in which they may differ, and the other fields stand beside it, once. [] is none. toClaimedJobs (verbs/claim.ts) reads them.

-- What is paused at an instant, and when the next pause ends by itself.
CREATE FUNCTION duly.pauses_f1(p_now bigint, OUT paused text[], OUT next_end_at bigint) LANGUAGE sql STABLE AS $$
  SELECT coalesce(array_agg(p.key), '{}'), min(p.until_at)
  FROM (SELECT key, (value::json ->> 'untilAt')::bigint AS until_at FROM duly.records WHERE kind = 'pause') p
  WHERE p.until_at IS NULL OR p.until_at > p_now
$$;

-- Live jobs under lease by columns.
CREATE FUNCTION duly.leased_f1(p_ids text[], p_fences bigint[], p_begun boolean[]) RETURNS json LANGUAGE plpgsql AS $$
BEGIN
  RETURN (SELECT json_build_object('columns', json_build_object('id', json_agg(j.id), 'type', json_agg(j.type), 'version', json_agg(j.version), 'queue', json_agg(j.queue), 'tenant', json_agg(j.tenant), 'priority', json_agg(j.priority), 'input', json_agg(j.input), 'metadata', json_agg(j.metadata), 'policy', json_agg(j.policy), 'fence', json_agg(j.lease_fence), 'attempt', json_agg(j.attempt), 'spent', json_agg(j.spent), 'maxAttempts', json_agg(j.max_attempts), 'losses', json_agg(j.losses), 'begunLosses', json_agg(j.begun_losses), 'begun', json_agg(j.begun), 'createdAt', json_agg(j.created_at), 'dueAt', json_agg(j.due_at), 'claimedAt', json_agg(j.claimed_at), 'origin', json_agg(j.origin), 'slot', json_agg(j.slot), 'slotDetails', json_agg(j.slot_details), 'parentId', json_agg(j.parent_id), 'parentKey', json_agg(j.parent_key), 'cancelRequestedAt', json_agg(j.cancel_requested_at)))
    FROM (
      SELECT j.*, l.fence AS lease_fence, l.begun FROM unnest(p_ids, p_fences, p_begun) WITH ORDINALITY AS l (id, fence, begun, n)
      JOIN duly.jobs j ON j.id = ANY (ARRAY[l.id]) ORDER BY l.n) j);
END $$;

-- Leases the jobs of these rows, which are locked, to one worker; they are given fences in this order. \`p_type\`: of all of them, if they
-- have one. Jobs that are taken together differ in little as a rule: then the answer says the rest once, as an object. Otherwise it is
-- that of leased.
CREATE FUNCTION duly.take_f1(p_now bigint, p_claim jsonb, p_rows tid[], p_type text) RETURNS json LANGUAGE plpgsql AS $$
DECLARE
  v_first duly.jobs;
  v_node text := p_claim ->> 'node';
  v_token text := p_claim ->> 'token';
  v_at bigint := duly.after_lock_f1(p_now);
  v_until bigint := v_at + (p_claim ->> 'leaseMs')::bigint;
  v_ids text[];
  v_fences bigint[];
  v_types text[];
  v_odd bigint;
  v_columns json;
BEGIN
  SELECT * INTO v_first FROM duly.jobs WHERE ctid = p_rows[1];
  WITH taken AS (
    UPDATE duly.jobs j SET
      status = 'RUNNING', rank = NULL, fence = nextval('duly.fence'), node = v_node, claimed_at = v_at, updated_at = v_at, begun_at = NULL,
      attempt = j.attempt + 1, started_at = coalesce(j.started_at, v_at),
      lateness_ms = coalesce(j.lateness_ms, greatest(0, v_at - j.due_at)),
      percent = 0, message = NULL, step = NULL, step_of = NULL
    FROM unnest(p_rows) WITH ORDINALITY AS r (tid, n) WHERE j.ctid = r.tid
    RETURNING r.n, j.seq, j.type, j.slot_details, j.id, j.tenant, j.input, j.metadata, j.fence, j.created_at, j.due_at, j.slot, j.cancel_requested_at,
      j.dedupe_key IS NULL AND j.serial IS NULL AS plain,
      j.type <> v_first.type OR j.version <> v_first.version OR j.queue <> v_first.queue OR j.priority <> v_first.priority OR j.attempt <> v_first.attempt + 1 OR j.spent <> v_first.spent OR j.max_attempts <> v_first.max_attempts OR j.losses <> v_first.losses OR j.begun_losses <> v_first.begun_losses OR j.origin <> v_first.origin
        OR j.parent_id IS NOT NULL OR j.cancel_requested_at IS NOT NULL OR j.policy <> v_first.policy AS odd),
  leased AS (
    INSERT INTO duly.leases (id, seq, fence, node, token, plain, until_at, cancel_at)
    SELECT id, seq, fence, v_node, v_token, plain, v_until, cancel_requested_at FROM taken)
  SELECT array_agg(id), array_agg(fence), array_agg(type) FILTER (WHERE p_type IS NULL), count(*) FILTER (WHERE odd),
    json_build_object('id', json_agg(id), 'fence', json_agg(fence), 'input', json_agg(input), 'createdAt', json_agg(created_at), 'dueAt', json_agg(due_at), 'tenant', CASE WHEN count(tenant) > 0 THEN json_agg(tenant) END, 'metadata', CASE WHEN count(metadata) > 0 THEN json_agg(metadata) END, 'slot', CASE WHEN count(slot) > 0 THEN json_agg(slot) END, 'slotDetails', CASE WHEN count(slot_details) > 0 THEN json_agg(slot_details) END)
  -- In their order, which is asked for: the planner may come to the rows in that of the table.
  INTO v_ids, v_fences, v_types, v_odd, v_columns FROM (SELECT * FROM taken ORDER BY n) t;
  IF v_ids IS NULL THEN RETURN '[]'; END IF;
  INSERT INTO duly.changes (at, n, entries) VALUES (v_at, cardinality(v_ids),
    json_build_array(v_ids, CASE WHEN p_type IS NULL THEN to_json(v_types) ELSE to_json(p_type) END, 'RUNNING', 'claimed', 0)::text);
  IF v_odd > 0 THEN RETURN duly.leased_f1(v_ids, v_fences, array_fill(false, ARRAY[cardinality(v_ids)])); END IF;
  RETURN json_build_object('columns', v_columns, 'claimedAt', v_at,
    'type', v_first.type, 'version', v_first.version, 'queue', v_first.queue, 'priority', v_first.priority, 'policy', v_first.policy, 'attempt', v_first.attempt + 1, 'spent', v_first.spent, 'maxAttempts', v_first.max_attempts, 'losses', v_first.losses, 'begunLosses', v_first.begun_losses, 'origin', v_first.origin);
END $$;

-- Takes jobs of one lane from this rank on. \`p_overdue\`: jobs past their start deadline may be among them, and are passed over.
CREATE FUNCTION duly.take_lane_f1(
  p_now bigint, p_claim jsonb, p_type text, p_version integer, p_queue text, p_rank bigint, p_wanted integer, p_overdue boolean,
  OUT claimed json, OUT more boolean)
LANGUAGE plpgsql AS $$
DECLARE
  v_limit integer := (p_claim ->> 'limit')::integer;
  v_rows tid[];
  v_last_rank bigint;
BEGIN
  SELECT array_agg(t.ctid ORDER BY t.rank, t.seq), max(t.rank) INTO v_rows, v_last_rank FROM (
    SELECT j.ctid, j.rank, j.seq FROM duly.jobs j
    WHERE j.rank IS NOT NULL AND j.solo = 0 AND j.type = p_type AND j.version = p_version AND j.queue = p_queue AND j.rank >= p_rank
      AND (NOT p_overdue OR j.expire_at IS NULL OR j.started_at IS NOT NULL OR j.expire_at >= p_now)
    ORDER BY j.rank, j.seq LIMIT least(p_wanted, v_limit) FOR UPDATE SKIP LOCKED) t;
  claimed := '[]';
  more := false;
  IF v_rows IS NULL THEN RETURN; END IF;
  claimed := duly.take_f1(p_now, p_claim, v_rows, p_type);
  -- What was taken has left the index, so whatever is found from its last rank on is more.
  more := cardinality(v_rows) = v_limit AND EXISTS (SELECT 1 FROM duly.jobs j
    WHERE j.rank IS NOT NULL AND j.solo = 0 AND j.type = p_type AND j.version = p_version AND j.queue = p_queue AND j.rank >= v_last_rank);
END $$;

-- When the next job of these types falls due, of those that are due at \`p_from\` or later.
CREATE FUNCTION duly.next_due_f1(p_types text[], p_from bigint) RETURNS bigint LANGUAGE plpgsql AS $$
BEGIN
  RETURN (SELECT min(n.due_at) FROM unnest(p_types) AS t (type) CROSS JOIN LATERAL (
    SELECT j.due_at FROM duly.jobs j WHERE j.rank IS NULL AND j.status IN ('SCHEDULED', 'RETRYING') AND j.type = t.type
      AND j.due_at >= p_from
    ORDER BY j.due_at, j.seq LIMIT 1) n);
END $$;

-- How many pages of live jobs this transaction has read so far, counted and not timed: on a busy machine the clock tells who else was running.
CREATE FUNCTION duly.pages_read_f1() RETURNS bigint LANGUAGE plpgsql AS $$
BEGIN
  RETURN pg_stat_get_xact_blocks_fetched('duly.jobs'::regclass);
END $$;

-- The reply to a claim that is sent again: the jobs that it was given. \`claimed\` null: none.
CREATE FUNCTION duly.claim_again_f1(p_now bigint, p_claim jsonb, p_from bigint, OUT claimed json, OUT next_at bigint) LANGUAGE plpgsql AS $$
DECLARE v_types text[];
BEGIN
  SELECT duly.leased_f1(array_agg(j.id ORDER BY j.fence), array_agg(j.fence ORDER BY j.fence), array_agg(j.begun ORDER BY j.fence))
  INTO claimed FROM (
    SELECT l.id, l.fence, l.begun_at IS NOT NULL AS begun FROM duly.leases l WHERE l.token = p_claim ->> 'token') j
  HAVING count(*) > 0;
  IF claimed IS NULL THEN RETURN; END IF;
  PERFORM duly.confirm_f1();
  SELECT array_agg(t ->> 'type') INTO v_types FROM jsonb_array_elements(p_claim -> 'tasks') t;
  next_at := duly.next_due_f1(v_types, p_from);
  IF v_types IS NOT NULL THEN next_at := least(next_at, (duly.pauses_f1(p_now)).next_end_at); END IF;
END $$;

-- What a claim may take at this instant: its tasks that are not paused, the queues that are, the queues it asks for (null: all), and when the
-- next pause ends. \`types\` null: nothing.
CREATE FUNCTION duly.find_claimable_f1(
  p_now bigint, p_claim jsonb, OUT types text[], OUT versions integer[], OUT limits integer[], OUT closed text[], OUT queues text[],
  OUT pause_end bigint)
LANGUAGE plpgsql AS $$
DECLARE v_paused text[];
BEGIN
  IF jsonb_array_length(p_claim -> 'tasks') = 0 THEN RETURN; END IF;
  SELECT coalesce(array_agg(p.key), '{}'), min(p.until_at) INTO v_paused, pause_end
  FROM (SELECT key, (value::json ->> 'untilAt')::bigint AS until_at FROM duly.records WHERE kind = 'pause') p
  WHERE p.until_at IS NULL OR p.until_at > p_now;
  IF 'all' = ANY (v_paused) THEN RETURN; END IF;
  SELECT array_agg(t ->> 'type'), array_agg((t ->> 'version')::integer), array_agg((t ->> 'limit')::integer)
  INTO types, versions, limits
  FROM jsonb_array_elements(p_claim -> 'tasks') t
  WHERE (t ->> 'limit')::integer > 0 AND NOT 'type:' || (t ->> 'type') = ANY (v_paused);
  SELECT coalesce(array_agg(substr(p, 7)), '{}') INTO closed FROM unnest(v_paused) p WHERE p LIKE 'queue:%';
  IF jsonb_typeof(p_claim -> 'queues') = 'array' THEN
    SELECT coalesce(array_agg(q), '{}') INTO queues FROM jsonb_array_elements_text(p_claim -> 'queues') q;
  END IF;
END $$;

-- Takes a suspect job, by itself. \`waits\`: one is ready, but not the most urgent job.
CREATE FUNCTION duly.claim_suspect_f1(
  p_now bigint, p_claim jsonb, p_types text[], p_versions integer[], p_closed text[], p_queues text[],
  OUT claimed json, OUT solo_since bigint, OUT waits boolean)
LANGUAGE plpgsql AS $$
DECLARE
  v_limit integer := (p_claim ->> 'limit')::integer;
  v_row tid;
  v_rank bigint;
BEGIN
  waits := false;
  IF (p_claim ->> 'idle')::boolean AND v_limit > 0 THEN
    SELECT j.ctid INTO v_row FROM duly.jobs j JOIN unnest(p_types, p_versions) AS t (type, version) ON j.type = t.type
    WHERE j.rank IS NOT NULL AND j.solo = 2 AND j.version <= t.version
      AND NOT j.queue = ANY (p_closed) AND (p_queues IS NULL OR j.queue = ANY (p_queues))
    ORDER BY j.rank, j.seq LIMIT 1 FOR UPDATE OF j SKIP LOCKED;
    IF v_row IS NOT NULL THEN
      claimed := duly.take_f1(p_now, p_claim, ARRAY[v_row], NULL);
      RETURN;
    END IF;
  END IF;
  SELECT min(j.due_at) INTO solo_since FROM duly.jobs j
  WHERE j.rank IS NOT NULL AND j.solo = 2 AND j.type IN (
    SELECT o.type FROM duly.jobs o JOIN unnest(p_types, p_versions) AS t (type, version) ON o.type = t.type
    WHERE o.rank IS NOT NULL AND o.solo = 2 AND o.version <= t.version
      AND NOT o.queue = ANY (p_closed) AND (p_queues IS NULL OR o.queue = ANY (p_queues)));
  IF v_limit <= 0 THEN RETURN; END IF;
  -- A job that was lost before is claimed by itself, in its turn: when it stands at the head.
  SELECT j.ctid, j.rank INTO v_row, v_rank FROM duly.jobs j JOIN unnest(p_types, p_versions) AS t (type, version) ON j.type = t.type
  WHERE j.rank IS NOT NULL AND j.solo = 1 AND j.version <= t.version
    AND NOT j.queue = ANY (p_closed) AND (p_queues IS NULL OR j.queue = ANY (p_queues))
  ORDER BY j.rank, j.seq LIMIT 1 FOR UPDATE OF j SKIP LOCKED;
  waits := v_row IS NOT NULL;
  IF waits AND NOT EXISTS (
    SELECT 1 FROM unnest(p_types, p_versions) AS t (type, version) CROSS JOIN LATERAL (
      SELECT 1 FROM duly.jobs j WHERE j.rank IS NOT NULL AND j.solo = 0 AND j.type = t.type AND j.version <= t.version AND j.rank < v_rank
        AND NOT j.queue = ANY (p_closed) AND (p_queues IS NULL OR j.queue = ANY (p_queues)) LIMIT 1) r)
  THEN
    claimed := duly.take_f1(p_now, p_claim, ARRAY[v_row], NULL);
  END IF;
END $$;

-- The lanes of these types that have ready jobs, each with its lowest rank.
CREATE FUNCTION duly.find_lanes_f1(
  p_hints jsonb, INOUT types text[], INOUT versions integer[], INOUT limits integer[], OUT queues text[], OUT ranks bigint[])
LANGUAGE plpgsql AS $$
BEGIN
  IF p_hints IS NULL THEN
    -- The lanes, by a loose scan: each step is one seek, however many jobs a lane holds. Each with its lowest rank: what is dead below it and
    -- cannot be removed yet is stepped over once.
    WITH RECURSIVE lane AS (
      SELECT w.type, w.version AS highest, w.n, f.version, f.queue, f.rank
      FROM unnest(types, versions, limits) AS w (type, version, n) CROSS JOIN LATERAL (
        SELECT j.version, j.queue, j.rank FROM duly.jobs j
        WHERE j.rank IS NOT NULL AND j.solo = 0 AND j.type = w.type AND j.version <= w.version
        ORDER BY j.version, j.queue, j.rank LIMIT 1) f
      UNION ALL
      SELECT l.type, l.highest, l.n, f.version, f.queue, f.rank
      FROM lane l CROSS JOIN LATERAL (
        SELECT j.version, j.queue, j.rank FROM duly.jobs j
        WHERE j.rank IS NOT NULL AND j.solo = 0 AND j.type = l.type AND j.version <= l.highest
          AND (j.version, j.queue) > (l.version, l.queue)
        ORDER BY j.version, j.queue, j.rank LIMIT 1) f)
    SELECT array_agg(l.type), array_agg(l.version), array_agg(l.queue), array_agg(l.n), array_agg(l.rank)
    INTO types, versions, queues, limits, ranks FROM lane l;
  ELSE
    SELECT array_agg(w.type), array_agg(l.version), array_agg(l.queue), array_agg(w.n), array_agg(f.rank)
    INTO types, versions, queues, limits, ranks
    FROM unnest(types, versions, limits) AS w (type, version, n)
    JOIN jsonb_to_recordset(p_hints -> 'lanes') AS l (type text, version integer, queue text, rank bigint)
      ON l.type = w.type AND l.version <= w.version
    CROSS JOIN LATERAL (
      SELECT j.rank FROM duly.jobs j
      WHERE j.rank IS NOT NULL AND j.solo = 0 AND j.type = l.type AND j.version = l.version AND j.queue = l.queue AND j.rank >= l.rank
      ORDER BY j.rank LIMIT 1) f;
  END IF;
END $$;

-- Takes the most urgent jobs of several lanes.
CREATE FUNCTION duly.take_lanes_f1(
  p_now bigint, p_claim jsonb, p_types text[], p_versions integer[], p_queues text[], p_ranks bigint[], p_limits integer[], p_overdue boolean,
  OUT claimed json, OUT more boolean)
LANGUAGE plpgsql AS $$
DECLARE
  v_limit integer := (p_claim ->> 'limit')::integer;
  v_rows tid[];
BEGIN
  claimed := '[]';
  -- How many from which lane, unlocked, so it costs no one anything; then that many from each lane, passing over what others hold.
  -- To lock the heads of every lane and throw most away would hide them from the other workers.
  WITH lane AS (
    SELECT * FROM unnest(p_types, p_versions, p_queues, p_limits, p_ranks) AS l (type, version, queue, n, floor)),
  head AS (
    SELECT l.type, l.version, l.queue, l.n, l.floor, h.rank, h.seq, row_number() OVER (PARTITION BY l.type ORDER BY h.rank, h.seq) AS place
    FROM lane l CROSS JOIN LATERAL (
      SELECT j.rank, j.seq FROM duly.jobs j
      WHERE j.rank IS NOT NULL AND j.solo = 0 AND j.type = l.type AND j.version = l.version AND j.queue = l.queue AND j.rank >= l.floor
      ORDER BY j.rank, j.seq LIMIT least(l.n, v_limit) + 1) h),
  best AS (SELECT type, version, queue, floor, rank, seq FROM head WHERE place <= n ORDER BY rank, seq LIMIT v_limit),
  last AS (SELECT rank, seq FROM best ORDER BY rank DESC, seq DESC LIMIT 1),
  share AS (SELECT type, version, queue, floor, count(*) AS n FROM best GROUP BY type, version, queue, floor)
  SELECT array_agg(t.ctid ORDER BY t.rank, t.seq),
    (SELECT count(*) FROM best) = v_limit AND EXISTS (SELECT 1 FROM head h, last WHERE (h.rank, h.seq) > (last.rank, last.seq))
  INTO v_rows, more
  FROM share s CROSS JOIN LATERAL (
    SELECT j.ctid, j.rank, j.seq FROM duly.jobs j
    WHERE j.rank IS NOT NULL AND j.solo = 0 AND j.type = s.type AND j.version = s.version AND j.queue = s.queue AND j.rank >= s.floor
      AND (NOT p_overdue OR j.expire_at IS NULL OR j.started_at IS NOT NULL OR j.expire_at >= p_now)
    ORDER BY j.rank, j.seq LIMIT s.n FOR UPDATE SKIP LOCKED) t;
  IF v_rows IS NOT NULL THEN claimed := duly.take_f1(p_now, p_claim, v_rows, NULL); END IF;
END $$;

-- The full branch of claim: first ends what is past its start deadline, and promotes what is due.
--
-- While a transaction stays open, index entries of settled jobs remain below the live ones. A scan from the lowest rank then reads more and
-- more pages, and reports it: \`scan\` says how many, and the lowest live rank of each lane. The caller may send them as \`scanHints\` with its
-- next claim, which scans only these lanes from there on. Jobs below are found by the next full scan.
CREATE FUNCTION duly.claim_full_f1(
  p_now bigint, p_claim jsonb, p_repeat boolean, OUT claimed json, OUT more boolean, OUT solo_since bigint, OUT next_at bigint, OUT scan json)
LANGUAGE plpgsql AS $$
DECLARE
  v_limit integer := (p_claim ->> 'limit')::integer;
  v_types text[];
  v_versions integer[];
  v_limits integer[];
  v_queues text[];
  v_closed text[];
  v_all_promoted boolean := true;
  v_all_expired boolean := true;
  v_overdue boolean := false;
  v_waits boolean := false;
  v_lanes text[];
  v_ranks bigint[];
  v_hints jsonb := p_claim -> 'scanHints';
  v_from bigint := coalesce((v_hints ->> 'dueAt')::bigint, -9223372036854775808);
  v_read bigint := duly.pages_read_f1();
BEGIN
  claimed := '[]';
  more := false;
  IF p_repeat THEN
    SELECT * INTO claimed, next_at FROM duly.claim_again_f1(p_now, p_claim, v_from);
    more := claimed IS NOT NULL;
    IF more THEN RETURN; END IF;
    claimed := '[]';
  END IF;
  -- Looks that cost little stand before calls that do more.
  IF EXISTS (SELECT 1 FROM duly.jobs WHERE expire_at IS NOT NULL AND started_at IS NULL AND expire_at < p_now) THEN
    v_all_expired := duly.expire_overdue_f1(p_now, 1000) < 1000;
    -- More than it ends, or such as others hold just now: it passes over them.
    v_overdue := EXISTS (SELECT 1 FROM duly.jobs WHERE expire_at IS NOT NULL AND started_at IS NULL AND expire_at < p_now);
  END IF;
  IF EXISTS (SELECT 1 FROM duly.left_places) THEN PERFORM duly.tidy_places_f1(p_now); END IF;
  SELECT array_agg(t ->> 'type') INTO v_types FROM jsonb_array_elements(p_claim -> 'tasks') t;
  next_at := duly.next_due_f1(v_types, v_from);
  v_read := duly.pages_read_f1() - v_read;
  IF next_at <= p_now THEN
    -- Some more than it takes, so that the most urgent of them is among what it sees.
    v_all_promoted := (duly.promote_f1(p_now, v_types, greatest(1000, v_limit), v_from)).is_all;
    next_at := duly.next_due_f1(v_types, v_from);
  END IF;
  SELECT least(next_at, c.pause_end), c.types, c.versions, c.limits, c.closed, c.queues
  INTO next_at, v_types, v_versions, v_limits, v_closed, v_queues FROM duly.find_claimable_f1(p_now, p_claim) c;
  IF v_types IS NULL THEN RETURN; END IF;
  IF EXISTS (SELECT 1 FROM duly.jobs WHERE rank IS NOT NULL AND solo > 0 LIMIT 1) THEN
    SELECT * INTO claimed, solo_since, v_waits FROM duly.claim_suspect_f1(p_now, p_claim, v_types, v_versions, v_closed, v_queues);
    more := claimed IS NOT NULL;
    IF more THEN RETURN; END IF;
    claimed := '[]';
  END IF;
  -- Takes nothing, and only asks what is there.
  IF v_limit <= 0 THEN
    more := EXISTS (
      SELECT 1 FROM unnest(v_types, v_versions) AS t (type, version) CROSS JOIN unnest('{0,1,2}'::smallint[]) AS s (solo) CROSS JOIN LATERAL (
        SELECT 1 FROM duly.jobs j WHERE j.rank IS NOT NULL AND j.solo = s.solo AND j.type = t.type AND j.version <= t.version
          AND NOT j.queue = ANY (v_closed) AND (v_queues IS NULL OR j.queue = ANY (v_queues)) LIMIT 1) r);
    RETURN;
  END IF;

  v_read := v_read - duly.pages_read_f1();
  SELECT * INTO v_types, v_versions, v_limits, v_lanes, v_ranks FROM duly.find_lanes_f1(v_hints, v_types, v_versions, v_limits);
  v_read := v_read + duly.pages_read_f1();
  IF v_hints IS NOT NULL OR v_read > 300 THEN
    scan := json_build_object('isFull', v_hints IS NULL, 'pages', v_read, 'isAllPromoted', v_all_promoted, 'lanes', (
      SELECT coalesce(json_agg(json_build_object('type', l.type, 'version', l.version, 'queue', l.queue, 'rank', l.rank)), '[]')
      FROM unnest(v_types, v_versions, v_lanes, v_ranks) AS l (type, version, queue, rank)));
  END IF;
  IF v_closed <> '{}' OR v_queues IS NOT NULL THEN
    SELECT array_agg(l.type), array_agg(l.version), array_agg(l.queue), array_agg(l.n), array_agg(l.rank)
    INTO v_types, v_versions, v_lanes, v_limits, v_ranks
    FROM unnest(v_types, v_versions, v_lanes, v_limits, v_ranks) AS l (type, version, queue, n, rank)
    WHERE NOT l.queue = ANY (v_closed) AND (v_queues IS NULL OR l.queue = ANY (v_queues));
  END IF;

  IF cardinality(v_lanes) = 1 THEN
    SELECT * INTO claimed, more FROM duly.take_lane_f1(p_now, p_claim, v_types[1], v_versions[1], v_lanes[1], v_ranks[1], v_limits[1], v_overdue);
  ELSIF cardinality(v_lanes) > 1 THEN
    SELECT * INTO claimed, more FROM duly.take_lanes_f1(p_now, p_claim, v_types, v_versions, v_lanes, v_ranks, v_limits, v_overdue);
  END IF;
  more := more OR v_waits OR NOT v_all_promoted OR NOT v_all_expired;
END $$;

-- Whether these jobs are all among those that a claim was given.
CREATE FUNCTION duly.claimed_all_f1(p_claimed json, p_created text[]) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE v_taken json := p_claimed -> 'columns' -> 'id';
BEGIN
  IF cardinality(p_created) > coalesce(json_array_length(v_taken), 0) THEN RETURN false; END IF;
  RETURN p_created <@ (SELECT coalesce(array_agg(c), '{}') FROM json_array_elements_text(v_taken) c);
END $$;

-- Leases one job by a single statement: what promote does for a job that is due, and then what take does. Null: another session holds the
-- row, or has just changed it.
CREATE FUNCTION duly.take_one_f1(p_now bigint, p_claim jsonb, p_row tid, p_is_due boolean) RETURNS json LANGUAGE plpgsql AS $$
DECLARE
  v_id text;
  v_fence bigint;
  v_claimed json;
BEGIN
  WITH picked AS MATERIALIZED (
    SELECT r.*, duly.after_lock_f1(p_now) AS at FROM (
      SELECT j.ctid AS tid, j.status AS was, j.percent AS was_percent FROM duly.jobs j
      WHERE j.ctid = p_row AND CASE WHEN NOT p_is_due THEN j.rank IS NOT NULL
        ELSE j.rank IS NULL AND j.status IN ('SCHEDULED', 'RETRYING') AND j.due_at <= p_now END
      FOR UPDATE SKIP LOCKED) r),
  taken AS (
    UPDATE duly.jobs j SET
      status = 'RUNNING', rank = NULL, fence = nextval('duly.fence'), node = p_claim ->> 'node', claimed_at = p.at, updated_at = p.at, begun_at = NULL,
      attempt = j.attempt + 1, started_at = coalesce(j.started_at, p.at),
      lateness_ms = coalesce(j.lateness_ms, greatest(0, p.at - j.due_at)),
      percent = 0, message = NULL, step = NULL, step_of = NULL
    FROM picked p WHERE j.ctid = p.tid
    RETURNING j.*, p.was, p.was_percent),
  leased AS (
    INSERT INTO duly.leases (id, seq, fence, node, token, plain, until_at, cancel_at)
    SELECT id, seq, fence, p_claim ->> 'node', p_claim ->> 'token', dedupe_key IS NULL AND serial IS NULL, claimed_at + (p_claim ->> 'leaseMs')::bigint, cancel_requested_at FROM taken),
  told AS (
    INSERT INTO duly.changes (at, n, entries)
    SELECT p_now, 1, json_build_array(json_build_array(id), type, CASE was WHEN 'RETRYING' THEN was ELSE 'PENDING' END, 'due', was_percent)::text
    FROM taken WHERE p_is_due
    UNION ALL
    SELECT claimed_at, 1, json_build_array(json_build_array(id), type, 'RUNNING', 'claimed', 0)::text FROM taken)
  SELECT id, fence, CASE WHEN parent_id IS NULL AND cancel_requested_at IS NULL THEN json_build_object(
    'columns', json_build_object('id', json_build_array(id)), 'fence', fence, 'input', input, 'createdAt', created_at, 'dueAt', due_at, 'tenant', tenant, 'metadata', metadata, 'slot', slot, 'slotDetails', slot_details,
    'type', type, 'version', version, 'queue', queue, 'priority', priority, 'policy', policy, 'attempt', attempt, 'spent', spent, 'maxAttempts', max_attempts, 'losses', losses, 'begunLosses', begun_losses, 'claimedAt', claimed_at, 'origin', origin) END
  INTO v_id, v_fence, v_claimed FROM taken;
  IF v_claimed IS NULL AND v_id IS NOT NULL THEN RETURN duly.leased_f1(ARRAY[v_id], ARRAY[v_fence], '{false}'); END IF;
  RETURN v_claimed;
END $$;

-- Takes all jobs that are due without promoting them first: that saves a version of each row and its entry in the index of ready jobs. Nothing
-- else is ready, so if all of them can be taken no order is passed over. \`claimed\` null: they cannot, or other sessions hold them.
CREATE FUNCTION duly.take_due_f1(p_now bigint, p_claim jsonb, OUT claimed json, OUT next_at bigint) LANGUAGE plpgsql AS $$
DECLARE
  v_rows tid[];
  v_odd boolean;
  v_count integer;
  v_after bigint;
BEGIN
  WITH task AS (SELECT * FROM jsonb_to_recordset(p_claim -> 'tasks') AS t (type text, version integer, "limit" integer))
  SELECT array_agg(d.ctid ORDER BY d.rank, d.seq), bool_or(d.odd OR d.n > t."limit"), count(*), (
      SELECT min(a.due_at) FROM task o CROSS JOIN LATERAL (
        SELECT j.due_at FROM duly.jobs j
        WHERE j.rank IS NULL AND j.status IN ('SCHEDULED', 'RETRYING') AND j.type = o.type AND j.due_at > p_now
        ORDER BY j.due_at, j.seq LIMIT 1) a)
  INTO v_rows, v_odd, v_count, v_after
  FROM task t CROSS JOIN LATERAL (
    SELECT w.*, count(*) OVER () AS n FROM (
      SELECT j.ctid, j.due_at + j.rank_offset AS rank, j.seq, j.serial IS NOT NULL OR j.solo > 0 OR j.version > t.version
        OR (jsonb_typeof(p_claim -> 'queues') = 'array' AND NOT p_claim -> 'queues' ? j.queue) AS odd
      FROM duly.jobs j
      WHERE j.rank IS NULL AND j.status IN ('SCHEDULED', 'RETRYING') AND j.type = t.type AND j.due_at <= p_now
      ORDER BY j.due_at, j.seq LIMIT t."limit" + 1) w) d;
  IF coalesce(v_odd, true) OR v_count > (p_claim ->> 'limit')::integer THEN RETURN; END IF;
  next_at := v_after;
  IF v_count = 1 THEN
    claimed := duly.take_one_f1(p_now, p_claim, v_rows[1], true);
    RETURN;
  END IF;
  WITH due AS (
    SELECT j.ctid AS tid, r.n, j.id, j.type, CASE j.status WHEN 'RETRYING' THEN j.status ELSE 'PENDING' END AS status, j.percent, j.due_at, j.seq
    FROM unnest(v_rows) WITH ORDINALITY AS r (tid, n) JOIN duly.jobs j ON j.ctid = r.tid
    WHERE coalesce(j.rank IS NULL AND j.status IN ('SCHEDULED', 'RETRYING') AND j.due_at <= p_now, false) FOR UPDATE OF j SKIP LOCKED),
  noted AS (
    INSERT INTO duly.changes (at, n, entries)
    SELECT p_now, count(*), json_build_array(json_agg(id), json_agg(type), json_agg(status), 'due', json_agg(percent))::text
    FROM (SELECT * FROM due ORDER BY due_at, seq) d HAVING count(*) > 0)
  SELECT array_agg(tid ORDER BY n) INTO v_rows FROM due;
  IF v_rows IS NULL THEN RETURN; END IF;
  claimed := duly.take_f1(p_now, p_claim, v_rows, NULL);
  -- A job that another session holds is due all the same.
  IF cardinality(v_rows) < v_count THEN next_at := duly.next_due_f1(ARRAY(SELECT t ->> 'type' FROM jsonb_array_elements(p_claim -> 'tasks') t), '-9223372036854775808'); END IF;
END $$;

-- Claims jobs for one worker. \`next_at\`: when the next job of these tasks falls due, or a pause ends; \`more\`: jobs are left that it could take.
CREATE FUNCTION duly.claim_f1(
  p_now bigint, p_claim jsonb, p_repeat boolean, OUT claimed json, OUT more boolean, OUT solo_since bigint, OUT next_at bigint, OUT scan json)
LANGUAGE plpgsql AS $$
DECLARE
  v_read bigint := pg_stat_get_xact_blocks_fetched('duly.jobs'::regclass);
  v_branch text;
  v_row tid;
  v_type text;
  v_version integer;
  v_queue text;
  v_rank bigint;
  -- How many the worker wants of the lane; null: none.
  v_wanted integer;
BEGIN
  -- Plain: nothing is paused, overdue, suspect or left over, and either one lane of the store has ready jobs and nothing is due to be
  -- promoted, or only due jobs wait. One statement finds that out and chooses how the jobs are taken. Full: everything else. Each statement,
  -- and each expression of a function, is prepared anew in every transaction, and for one job that is most of what a claim costs.
  --
  -- Ready jobs stand in one index, first by whether they are suspect and then by lanes: if its first and its last entry are of one lane,
  -- there is no other.
  IF duly.allows_plain_f1() AND NOT p_repeat AND p_claim -> 'scanHints' IS NULL AND (p_claim ->> 'limit')::integer > 0 THEN
    SELECT CASE
        WHEN (f.solo, f.type, f.version, f.queue) IS DISTINCT FROM (l.solo, l.type, l.version, l.queue) OR f.solo > 0
          OR EXISTS (SELECT 1 FROM duly.left_places) OR EXISTS (SELECT 1 FROM duly.records WHERE kind = 'pause')
          OR EXISTS (SELECT 1 FROM duly.jobs WHERE expire_at IS NOT NULL AND started_at IS NULL AND expire_at < p_now)
          OR pg_stat_get_xact_blocks_fetched('duly.jobs'::regclass) - v_read > 300 THEN 'full'
        WHEN t.next_at <= p_now THEN CASE WHEN f.ctid IS NULL THEN 'due' ELSE 'full' END
        WHEN t.wanted > 0 AND (jsonb_typeof(p_claim -> 'queues') <> 'array' OR p_claim -> 'queues' ? f.queue)
          THEN CASE WHEN f.seq = l.seq AND (p_claim ->> 'limit')::integer > 1 THEN 'one' ELSE 'lane' END
        ELSE 'none' END,
      '[]'::json, false, t.next_at, f.ctid, f.type, f.version, f.queue, f.rank, t.wanted
    INTO v_branch, claimed, more, next_at, v_row, v_type, v_version, v_queue, v_rank, v_wanted
    FROM (VALUES (1)) one (n)
    LEFT JOIN LATERAL (
      SELECT ctid, solo, type, version, queue, rank, seq FROM duly.jobs WHERE rank IS NOT NULL
      ORDER BY solo, type, version, queue, rank, seq LIMIT 1) f ON true
    LEFT JOIN LATERAL (
      SELECT solo, type, version, queue, seq FROM duly.jobs WHERE rank IS NOT NULL
      ORDER BY solo DESC, type DESC, version DESC, queue DESC, rank DESC, seq DESC LIMIT 1) l ON true
    CROSS JOIN LATERAL (
      SELECT min(n.due_at) AS next_at, max(w."limit") FILTER (WHERE w.type = f.type AND w.version >= f.version) AS wanted
      FROM jsonb_to_recordset(p_claim -> 'tasks') AS w (type text, version integer, "limit" integer)
      LEFT JOIN LATERAL (
        SELECT j.due_at FROM duly.jobs j WHERE j.rank IS NULL AND j.status IN ('SCHEDULED', 'RETRYING') AND j.type = w.type
        ORDER BY j.due_at, j.seq LIMIT 1) n ON true) t;
    IF v_branch = 'none' THEN RETURN; END IF;
    IF v_branch = 'one' THEN claimed := duly.take_one_f1(p_now, p_claim, v_row, false);
    ELSIF v_branch = 'due' THEN SELECT * INTO claimed, next_at FROM duly.take_due_f1(p_now, p_claim);
    ELSIF v_branch = 'lane' THEN
      SELECT * INTO claimed, more FROM duly.take_lane_f1(p_now, p_claim, v_type, v_version, v_queue, v_rank, v_wanted, false);
    ELSE claimed := NULL;
    END IF;
    IF claimed IS NOT NULL THEN RETURN; END IF;
  END IF;
  SELECT * INTO claimed, more, solo_since, next_at, scan FROM duly.claim_full_f1(p_now, p_claim, p_repeat);
END $$;

-- History by the day on which it may be forgotten: days are made ahead and dropped whole, so that forgetting a million jobs costs no more
-- than forgetting one. A job is kept until the day is over in which its retention ends.

CREATE FUNCTION duly.day_name_f1(p_day bigint) RETURNS text LANGUAGE sql IMMUTABLE AS $$
  SELECT 'finished_' || to_char(to_timestamp(p_day * 86400) AT TIME ZONE 'UTC', 'YYYYMMDD')
$$;

-- Makes the days that are to come, as many as asked, or drops one that is over; answers how many jobs went, about, and \`more\` if there is more to do. Both need a lock
-- on history for a moment: whoever cannot have it soon leaves it to the next call, and history waits in \`finished_other\` or a little longer. A lock is
-- kept until the commit, so what takes long comes before it, and one call does one thing: who counts and clears up a day while it holds the lock by which
-- another was made stops everybody who reads or settles, and waits in vain for those that wait for it.
-- Who may neither make nor drop tables here makes no days, and forgets so many jobs of days that are over one by one: \`more\` if that was not all.
CREATE FUNCTION duly.keep_days_f1(p_now bigint, p_ahead integer, p_limit integer DEFAULT 500) RETURNS text LANGUAGE plpgsql SET lock_timeout = '200ms' AS $$
DECLARE
  v_now bigint := duly.begin_f1(p_now);
  v_today bigint := v_now / 86400000;
  v_day bigint;
  v_name text;
  v_created bigint;
  v_jobs bigint := 0;
  v_n bigint;
  v_ids text[];
  v_is_owner boolean;
  v_may_create boolean;
  v_has_made boolean := false;
  v_more boolean;
  v_what text;
  -- Some tenths of a second.
  v_slice integer := 100 * greatest(p_limit, 1);
BEGIN
  -- One at a time.
  IF NOT pg_try_advisory_xact_lock(hashtext('duly.days')) THEN RETURN json_build_object('now', v_now, 'jobs', 0, 'more', false)::text; END IF;
  SELECT pg_has_role(c.relowner, 'USAGE'), has_schema_privilege(c.relnamespace, 'CREATE') INTO v_is_owner, v_may_create
  FROM pg_class c WHERE c.oid = 'duly.finished'::regclass;
  FOR v_day IN SELECT generate_series(v_today, v_today + p_ahead) LOOP
    v_name := duly.day_name_f1(v_day);
    CONTINUE WHEN NOT (v_is_owner AND v_may_create) OR to_regclass(format('duly.%I', v_name)) IS NOT NULL;
    BEGIN
      -- While autovacuum analyzes a day it holds a snapshot, and no dead row of a live job can be removed: it must not pause in between.
      EXECUTE format('CREATE TABLE duly.%I (LIKE duly.finished INCLUDING DEFAULTS) WITH (autovacuum_vacuum_cost_delay = 0)', v_name);
      -- What lies in \`finished_other\` of that day moves over first, or it would stand in the way.
      EXECUTE format('WITH moved AS (DELETE FROM duly.finished_other WHERE prune_at >= %s AND prune_at < %s RETURNING *)
        INSERT INTO duly.%I SELECT * FROM moved', v_day * 86400000, (v_day + 1) * 86400000, v_name);
      GET DIAGNOSTICS v_n = ROW_COUNT;
      EXECUTE format('ALTER TABLE duly.finished ATTACH PARTITION duly.%I FOR VALUES FROM (%s) TO (%s)', v_name,
        v_day * 86400000, (v_day + 1) * 86400000);
    EXCEPTION WHEN lock_not_available OR deadlock_detected OR check_violation THEN
      EXIT;
    END;
    v_has_made := true;
    EXIT WHEN v_n > 0;
  END LOOP;
  IF v_has_made THEN RETURN json_build_object('now', v_now, 'jobs', 0, 'more', true)::text; END IF;
  IF NOT v_is_owner THEN
    EXECUTE format('WITH gone AS (
        DELETE FROM duly.finished WHERE prune_at < %1$s AND id IN (SELECT id FROM duly.finished WHERE prune_at < %1$s LIMIT %2$s)
        RETURNING id, created_at)
      SELECT array_agg(id), max(created_at), count(*) FROM gone', v_today * 86400000, p_limit) INTO v_ids, v_created, v_jobs;
    IF v_jobs > 0 THEN
      PERFORM duly.note_pruned_f1(v_created);
      PERFORM duly.forget_f1(v_ids);
    END IF;
    RETURN json_build_object('now', v_now, 'jobs', v_jobs, 'more', v_jobs >= p_limit)::text;
  END IF;
  SELECT min(c.relname), count(*) > 1 INTO v_name, v_more FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
  WHERE i.inhparent = 'duly.finished'::regclass AND c.relname ~ '^finished_[0-9]{8}$' AND c.relname < duly.day_name_f1(v_today);
  IF v_name IS NULL THEN RETURN json_build_object('now', v_now, 'jobs', 0, 'more', false)::text; END IF;
  BEGIN
    -- Ids are time-ordered, so the last one tells when the newest of these jobs was made.
    EXECUTE format('SELECT created_at FROM duly.%I ORDER BY id DESC LIMIT 1', v_name) INTO v_created;
    IF v_created IS NOT NULL THEN PERFORM duly.note_pruned_f1(v_created); END IF;
    -- A day of millions would take longer than a call may: then what hangs on its jobs goes by and by, and the day with the last of it.
    FOREACH v_what IN ARRAY ARRAY['logs o JOIN duly.%I f ON f.id = o.job_id', 'children o JOIN duly.%I f ON f.id = o.parent_id',
      'journal o JOIN duly.%I f ON ''job:'' || f.id = o.scope'] LOOP
      EXECUTE format('DELETE FROM duly.%s WHERE ctid = ANY (ARRAY(SELECT o.ctid FROM duly.' || v_what || ' LIMIT %s))',
        split_part(v_what, ' ', 1), v_name, v_slice);
      GET DIAGNOSTICS v_n = ROW_COUNT;
      IF v_n >= v_slice THEN RETURN json_build_object('now', v_now, 'jobs', 0, 'more', true)::text; END IF;
    END LOOP;
    EXECUTE format('SELECT count(*) FROM duly.%I', v_name) INTO v_jobs;
    EXECUTE format('DROP TABLE duly.%I', v_name);
  EXCEPTION WHEN lock_not_available OR deadlock_detected THEN
    v_jobs := 0;
    v_more := false;
  END;
  RETURN json_build_object('now', v_now, 'jobs', v_jobs, 'more', v_more)::text;
END $$;

-- Helpers that deciding and editing schedules share.

-- Whether the runs that are to be told something still wait, and so will hear it. Locks them: a claim that comes now passes them over.
CREATE FUNCTION duly.all_wait_f1(p_reported jsonb) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE v_id text;
BEGIN
  FOR v_id IN SELECT t ->> 'id' FROM jsonb_array_elements(coalesce(p_reported, '[]')) t ORDER BY 1 LOOP
    PERFORM 1 FROM duly.jobs WHERE id = v_id AND status IN ('SCHEDULED', 'PENDING', 'BLOCKED') FOR UPDATE;
    IF NOT FOUND THEN RETURN false; END IF;
  END LOOP;
  RETURN true;
END $$;

-- Gives runs that wait behind others their new details.
CREATE FUNCTION duly.set_slot_details_f1(p_reported jsonb) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  UPDATE duly.jobs j SET slot_details = t.details
  FROM jsonb_to_recordset(coalesce(p_reported, '[]')) AS t (id text, details text)
  WHERE j.id = ANY (ARRAY[t.id]) AND j.slot IS NOT NULL;
END $$;

-- Whether a schedule would wait for a job that is over already. The shared lock makes the job's end wait for us; it then finds the schedule.
CREATE FUNCTION duly.is_over_f1(p_waits_for text) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
  IF p_waits_for IS NULL THEN RETURN false; END IF;
  PERFORM 1 FROM duly.jobs WHERE id = p_waits_for FOR KEY SHARE;
  RETURN NOT FOUND;
END $$;

-- Writes a ledger row, or lengthens the newest one when the decision is the same and no job stands between.
CREATE FUNCTION duly.add_slot_f1(p_now bigint, p_schedule text, p_generation integer, p_slot jsonb) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  v_last duly.slots;
  v_from bigint := (p_slot ->> 'fromAt')::bigint;
  v_to bigint := (p_slot ->> 'toAt')::bigint;
  v_count bigint := (p_slot ->> 'count')::bigint;
BEGIN
  -- A slot with a job stands alone, so nobody has to look.
  IF p_slot ->> 'jobId' IS NULL THEN
    SELECT * INTO v_last FROM duly.slots WHERE schedule_id = p_schedule AND generation = p_generation ORDER BY from_at DESC LIMIT 1;
    IF FOUND AND v_last.job_id IS NULL AND v_last.decision = p_slot ->> 'decision'
      AND v_last.reason IS NOT DISTINCT FROM p_slot ->> 'reason' AND v_last.from_at < v_from
    THEN
      UPDATE duly.slots SET to_at = v_to, count = v_last.count + v_count, last_decided_at = p_now
      WHERE schedule_id = p_schedule AND generation = p_generation AND from_at = v_last.from_at;
      RETURN;
    END IF;
  END IF;
  INSERT INTO duly.slots (schedule_id, generation, from_at, to_at, count, decision, reason, node, job_id, decided_at, last_decided_at)
  VALUES (p_schedule, p_generation, v_from, v_to, v_count, p_slot ->> 'decision', p_slot ->> 'reason', p_slot ->> 'node',
    p_slot ->> 'jobId', p_now, p_now);
END $$;

-- Other runs that an overlap policy ends.
CREATE FUNCTION duly.end_others_f1(p_now bigint, p_others jsonb, p_actor text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  v_one jsonb;
  v_job duly.jobs;
BEGIN
  FOR v_one IN SELECT * FROM jsonb_array_elements(coalesce(p_others, '[]')) LOOP
    v_job := duly.job_state_f1(v_one ->> 'id');
    IF v_job.id IS NOT NULL THEN PERFORM duly.cancel_job_f1(p_now, v_job, v_one ->> 'mode', p_actor, 'overlap policy'); END IF;
  END LOOP;
END $$;

-- Ends the leases of these schedules under these fences, whose rows are locked, and what was decided or edited since.
CREATE FUNCTION duly.leave_leases_f1(p_fences bigint[], p_ids text[]) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  v_fence bigint;
  v_ids text[];
  v_versions bigint[];
BEGIN
  FOREACH v_fence IN ARRAY p_fences LOOP
    SELECT array_agg(s.id ORDER BY u.n), array_agg(s.version ORDER BY u.n) INTO v_ids, v_versions
    FROM duly.schedule_leases l CROSS JOIN LATERAL unnest(l.ids, l.versions) WITH ORDINALITY AS u (id, version, n)
    JOIN duly.schedules s ON s.id = ANY (ARRAY[u.id]) AND s.version = u.version
    WHERE l.fence = v_fence AND u.id NOT IN (SELECT unnest(p_ids));
    IF v_ids IS NULL THEN DELETE FROM duly.schedule_leases WHERE fence = v_fence;
    ELSE UPDATE duly.schedule_leases SET ids = v_ids, versions = v_versions WHERE fence = v_fence;
    END IF;
  END LOOP;
END $$;

-- Creating jobs with everything that may stand in their way: repeats, parents and dedupe keys. insert_jobs inserts them.

-- A job that is there, or was deleted in the last 24 hours; a deletion does not tell the type.
CREATE FUNCTION duly.find_known_f1(p_id text, OUT type text, OUT status text, OUT due_at bigint) LANGUAGE plpgsql AS $$
DECLARE
  v_brief record := duly.find_brief_f1(p_id);
  v_deleted json;
BEGIN
  type := v_brief.type;
  status := v_brief.status;
  due_at := v_brief.due_at;
  IF status IS NOT NULL THEN RETURN; END IF;
  -- After the job itself: a deletion that commits in between is seen by one of the two.
  SELECT j.value INTO v_deleted FROM duly.journal j WHERE j.scope = 'deleted' AND j.key = p_id;
  status := v_deleted ->> 'status';
  due_at := (v_deleted ->> 'dueAt')::bigint;
END $$;

CREATE FUNCTION duly.item_f1(p_id text, p_status text, p_due bigint, p_deduped boolean) RETURNS json LANGUAGE sql AS $$
  SELECT json_build_object('id', p_id, 'status', p_status, 'dueAt', p_due, 'deduped', p_deduped)
$$;

-- Gives an unstarted job what a later call under the same key wants, and remembers by whom that call was taken over. Its serial place,
-- gates and parent stay.
CREATE FUNCTION duly.replace_job_f1(p_now bigint, p_job duly.jobs, p_spec jsonb) RETURNS json LANGUAGE plpgsql AS $$
DECLARE
  v_due bigint := duly.due_of_f1(p_now, p_spec);
  v_job duly.jobs := p_job;
BEGIN
  IF p_spec -> 'dedupe' ->> 'mode' = 'extend' AND p_spec -> 'dedupe' ->> 'maxWaitMs' IS NOT NULL THEN
    v_due := least(v_due, p_job.created_at + (p_spec -> 'dedupe' ->> 'maxWaitMs')::bigint);
  END IF;
  UPDATE duly.jobs SET
    version = (p_spec ->> 'version')::integer, queue = p_spec ->> 'queue', priority = (p_spec ->> 'priority')::integer,
    rank_offset = (p_spec ->> 'rankOffsetMs')::bigint, max_attempts = (p_spec ->> 'maxAttempts')::integer,
    policy = p_spec ->> 'policy', retention_ms = (p_spec ->> 'retentionMs')::bigint,
    dead_retention_ms = (p_spec ->> 'deadRetentionMs')::bigint, metadata = p_spec ->> 'metadata', input = p_spec ->> 'input',
    -- Moves with the due time, just below.
    expire_at = p_job.due_at + (p_spec ->> 'startDeadlineMs')::bigint, updated_at = p_now
  WHERE id = p_job.id;
  v_job.rank_offset := (p_spec ->> 'rankOffsetMs')::bigint;
  -- A call whose answer was lost is sent again within seconds; a process that stands still meanwhile has ten minutes.
  INSERT INTO duly.journal AS j (scope, key, value, until_at) VALUES ('fold', p_spec ->> 'id', p_job.id, p_now + 600000)
  ON CONFLICT (scope, key) DO UPDATE SET value = excluded.value, until_at = excluded.until_at;
  RETURN duly.item_f1(p_job.id, duly.move_due_f1(p_now, v_job, v_due, 'replaced'), v_due, true);
END $$;

-- A job with a dedupe key: takes the key, or finds its holder. Only who takes or changes something locks the key's row, so that a
-- call that is dropped neither waits for anyone nor makes anyone wait.
CREATE FUNCTION duly.create_deduped_f1(p_now bigint, p_spec jsonb, p_repeat boolean) RETURNS json LANGUAGE plpgsql AS $$
DECLARE
  v_id text := p_spec ->> 'id';
  v_type text := p_spec ->> 'type';
  v_tenant text := coalesce(p_spec ->> 'tenant', '');
  v_key text := p_spec -> 'dedupe' ->> 'key';
  v_mode text := p_spec -> 'dedupe' ->> 'mode';
  v_until bigint := p_now + (p_spec -> 'dedupe' ->> 'forMs')::bigint;
  v_held duly.dedupes;
  v_brief record;
  v_live duly.jobs;
  v_item json;
  v_taken boolean := false;
  v_took_over text;
BEGIN
  LOOP
    INSERT INTO duly.dedupes (type, tenant, key, job_id, until_at, created_at)
    VALUES (v_type, v_tenant, v_key, v_id, v_until, p_now) ON CONFLICT DO NOTHING;
    v_taken := FOUND;
    EXIT WHEN v_taken;
    SELECT * INTO v_held FROM duly.dedupes WHERE type = v_type AND tenant = v_tenant AND key = v_key;
    CONTINUE WHEN NOT FOUND;
    IF v_mode <> 'drop' OR v_held.job_id = '' OR v_held.until_at <= p_now THEN
      SELECT * INTO v_held FROM duly.dedupes WHERE type = v_type AND tenant = v_tenant AND key = v_key FOR UPDATE;
      CONTINUE WHEN NOT FOUND;
    END IF;
    EXIT;
  END LOOP;
  IF p_repeat AND v_mode <> 'drop' THEN
    -- The job that took this call over may have started meanwhile, or be over. Read once the key is held: until then an earlier send may
    -- still be on its way.
    SELECT value INTO v_took_over FROM duly.journal WHERE scope = 'fold' AND key = v_id;
    IF FOUND THEN
      IF v_taken THEN DELETE FROM duly.dedupes WHERE type = v_type AND tenant = v_tenant AND key = v_key; END IF;
      PERFORM duly.confirm_f1();
      v_brief := duly.find_known_f1(v_took_over);
      RETURN duly.item_f1(v_took_over, coalesce(v_brief.status, 'COMPLETED'), coalesce(v_brief.due_at, p_now), true);
    END IF;
  END IF;
  IF v_taken THEN RETURN duly.insert_jobs_f1(p_now, p_spec); END IF;
  -- Once its holder's time is over, the follow-up behind that one holds the key.
  IF v_held.until_at <= p_now AND v_held.follow_id IS NOT NULL THEN
    v_held.job_id := v_held.follow_id;
    v_held.until_at := v_held.follow_until;
    v_held.ended := NULL;
    v_held.follow_id := NULL;
  END IF;
  IF v_held.job_id <> '' AND (v_held.until_at IS NULL OR v_held.until_at > p_now) THEN
    v_brief := duly.find_brief_f1(v_held.job_id);
    IF v_held.job_id = v_id AND v_brief.status IS NOT NULL THEN
      RETURN duly.item_f1(v_id, v_brief.status, v_brief.due_at, false);
    END IF;
    IF v_mode = 'drop' THEN
      -- The key may outlive the history of its holder.
      RETURN duly.item_f1(v_held.job_id, coalesce(v_brief.status, v_held.ended, 'COMPLETED'), coalesce(v_brief.due_at, p_now), true);
    END IF;
    v_live := duly.job_state_f1(v_held.job_id);
    -- Otherwise nothing is left to replace, and nothing to wait for: the new job takes the key over.
    IF v_live.id IS NOT NULL THEN
      IF v_live.attempt = 0 THEN RETURN duly.replace_job_f1(p_now, v_live, p_spec); END IF;
      IF v_held.follow_id = v_id THEN
        v_brief := duly.find_brief_f1(v_id);
        RETURN duly.item_f1(v_id, v_brief.status, v_brief.due_at, false);
      END IF;
      IF v_held.follow_id IS NOT NULL THEN
        RETURN duly.replace_job_f1(p_now, duly.job_state_f1(v_held.follow_id), p_spec);
      END IF;
      v_item := duly.insert_jobs_f1(p_now, jsonb_set(p_spec, '{gates}', (p_spec -> 'gates') || jsonb_build_object('kind', 'dedupe', 'ref', v_live.id)));
      UPDATE duly.dedupes SET follow_id = v_id, follow_until = v_until WHERE type = v_type AND tenant = v_tenant AND key = v_key;
      RETURN v_item;
    END IF;
  END IF;
  v_item := duly.insert_jobs_f1(p_now, p_spec);
  UPDATE duly.dedupes
  SET job_id = v_id, until_at = v_until, created_at = p_now, ended = NULL, follow_id = NULL, follow_until = NULL
  WHERE type = v_type AND tenant = v_tenant AND key = v_key;
  RETURN v_item;
END $$;

-- Creates one job, or finds the job of the same parent and key, or of the same dedupe key.
CREATE FUNCTION duly.create_new_f1(p_now bigint, p_spec jsonb, p_repeat boolean) RETURNS json LANGUAGE plpgsql AS $$
DECLARE
  v_id text := p_spec ->> 'id';
  v_parent text := p_spec ->> 'parentId';
  v_key text := p_spec ->> 'parentKey';
  v_child text;
  v_brief record;
  v_item json;
BEGIN
  IF v_key IS NOT NULL THEN
    INSERT INTO duly.children (parent_id, key, job_id) VALUES (v_parent, v_key, v_id) ON CONFLICT DO NOTHING;
    IF NOT FOUND THEN
      SELECT job_id INTO v_child FROM duly.children WHERE parent_id = v_parent AND key = v_key;
      v_brief := duly.find_known_f1(v_child);
      -- The child may be past its retention, but the promise was kept.
      IF v_brief.status IS NULL THEN RETURN duly.item_f1(v_child, 'COMPLETED', p_now, true); END IF;
      RETURN duly.item_f1(v_child, v_brief.status, v_brief.due_at, v_child <> v_id);
    END IF;
  END IF;
  IF jsonb_typeof(p_spec -> 'dedupe') = 'object' THEN v_item := duly.create_deduped_f1(p_now, p_spec, p_repeat);
  ELSE v_item := duly.insert_jobs_f1(p_now, p_spec);
  END IF;
  -- Another job keeps the promise, so no child was made.
  IF v_key IS NOT NULL AND v_item ->> 'id' <> v_id THEN
    DELETE FROM duly.children WHERE parent_id = v_parent AND key = v_key AND job_id = v_id;
  END IF;
  RETURN v_item;
END $$;

-- Creates one job. With \`p_repeat\` the job may exist already under its id, in any state. Raises DU010 if it was created and ended
-- meanwhile: the caller undoes what it did and asks again.
CREATE FUNCTION duly.create_job_f1(p_now bigint, p_spec jsonb, p_repeat boolean) RETURNS json LANGUAGE plpgsql AS $$
DECLARE
  v_id text := p_spec ->> 'id';
  v_brief record;
  v_item json;
BEGIN
  IF NOT p_repeat THEN
    v_item := duly.create_new_f1(p_now, p_spec, false);
    PERFORM duly.refuse_late_f1(ARRAY[v_id]);
    RETURN v_item;
  END IF;
  v_brief := duly.find_known_f1(v_id);
  IF v_brief.status IS NOT NULL THEN
    PERFORM duly.refuse_type_f1(p_spec, v_brief.type);
    PERFORM duly.confirm_f1();
    RETURN duly.item_f1(v_id, v_brief.status, v_brief.due_at, false);
  END IF;
  v_item := duly.create_new_f1(p_now, p_spec, true);
  -- A job that ended has left \`jobs\`, so the insert met no conflict. Our own row keeps all others from inserting the id, so this
  -- second check is final.
  IF EXISTS (SELECT 1 FROM duly.dead WHERE id = v_id) OR EXISTS (SELECT 1 FROM duly.finished WHERE id = v_id)
    OR EXISTS (SELECT 1 FROM duly.journal WHERE scope = 'deleted' AND key = v_id) THEN
    RAISE EXCEPTION USING ERRCODE = 'DU010', MESSAGE = format('Job "%s" was created and ended meanwhile.', v_id);
  END IF;
  RETURN v_item;
END $$;

-- Serializes calls that create the same ids, in one order, so that two batches cannot deadlock. A transaction that reads an older
-- snapshot (REPEATABLE READ) cannot see a job that was created and ended since; it fails on the row of that job's id instead.
CREATE FUNCTION duly.take_ids_f1(p_now bigint, p_groups jsonb) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO duly.journal (scope, key, value, until_at)
  SELECT 'id', i.id, '', p_now + 600000
  FROM (SELECT DISTINCT s ->> 'id' AS id FROM jsonb_array_elements(p_groups) g CROSS JOIN jsonb_array_elements(g) s) i
  WHERE NOT EXISTS (SELECT 1 FROM duly.jobs j WHERE j.id = ANY (ARRAY[i.id]))
  ORDER BY i.id
  ON CONFLICT DO NOTHING;
END $$;

-- Takes the rows of all keys of a call in one order, so that two calls with the same keys cannot wait for each other. A row that was
-- not there is held by nobody ('') until its turn comes, and does not outlive the call.
CREATE FUNCTION duly.take_keys_f1(p_now bigint, p_specs jsonb) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO duly.dedupes (type, tenant, key, job_id, created_at)
  SELECT DISTINCT s ->> 'type', coalesce(s ->> 'tenant', ''), s -> 'dedupe' ->> 'key', '', p_now
  FROM jsonb_array_elements(p_specs) s ORDER BY 1, 2, 3
  ON CONFLICT DO NOTHING;
  PERFORM 1 FROM (
    SELECT DISTINCT s ->> 'type' AS type, coalesce(s ->> 'tenant', '') AS tenant, s -> 'dedupe' ->> 'key' AS key
    FROM jsonb_array_elements(p_specs) s WHERE s -> 'dedupe' ->> 'mode' <> 'drop') s
  JOIN duly.dedupes d ON d.type = ANY (ARRAY[s.type]) AND d.tenant = s.tenant AND d.key = s.key
  ORDER BY s.type, s.tenant, s.key FOR UPDATE OF d;
END $$;

CREATE FUNCTION duly.drop_keys_f1(p_specs jsonb) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  DELETE FROM duly.dedupes d USING jsonb_array_elements(p_specs) s
  WHERE d.job_id = '' AND d.type = ANY (ARRAY[s ->> 'type']) AND d.tenant = coalesce(s ->> 'tenant', '') AND d.key = s -> 'dedupe' ->> 'key';
END $$;

CREATE FUNCTION duly.numbers_of_f1(p_list jsonb) RETURNS bigint[] LANGUAGE sql IMMUTABLE AS $$
  SELECT CASE WHEN jsonb_typeof(p_list) = 'array' THEN ARRAY(SELECT n::bigint FROM jsonb_array_elements_text(p_list) n) END
$$;

CREATE FUNCTION duly.texts_of_f1(p_list jsonb) RETURNS text[] LANGUAGE sql IMMUTABLE AS $$
  SELECT CASE WHEN jsonb_typeof(p_list) = 'array' THEN ARRAY(SELECT t FROM jsonb_array_elements_text(p_list) t) END
$$;

-- Creates jobs, and claims with them. Plain jobs come by columns, those of all groups together (see insert_jobs): what each became follows
-- from its due instant, so the reply does not say it. \`p_lists\`: the lists of fields in which jobs of one kind differ beside id and input;
-- null for none. Others come in groups.
-- call: enqueue
CREATE FUNCTION duly.enqueue_f1(
  p_now bigint, p_specs jsonb, p_ids text[], p_inputs text[], p_lists jsonb, p_groups jsonb, p_claim jsonb, p_repeat boolean
) RETURNS text LANGUAGE plpgsql
SET lock_timeout = '2s'
SET plan_cache_mode = force_generic_plan SET jit = off SET enable_seqscan = off SET enable_bitmapscan = off
SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
  v_now bigint := coalesce(p_now, floor(extract(epoch FROM statement_timestamp()) * 1000)::bigint);
  v_running json;
  v_claim record;
BEGIN
  -- Jobs by columns are created with as few statements, expressions and parameters as possible: each of them is prepared anew in every
  -- transaction, and for one job that is most of what the call costs.
  IF p_ids IS NULL THEN RETURN duly.enqueue_groups_f1(duly.begin_f1(p_now), p_groups, p_claim, p_repeat); END IF;
  IF p_lists IS NULL THEN v_running := duly.insert_jobs_f1(v_now, p_specs, p_claim, NULL, p_ids, p_inputs);
  ELSE v_running := duly.insert_jobs_f1(v_now, p_specs, p_claim, duly.numbers_of_f1(p_lists -> 'kind')::integer[], p_ids, p_inputs,
    duly.numbers_of_f1(p_lists -> 'dues'), duly.numbers_of_f1(p_lists -> 'rankOffsets'), duly.texts_of_f1(p_lists -> 'tenants'),
    duly.texts_of_f1(p_lists -> 'metadata'));
  END IF;
  IF p_claim IS NULL THEN RETURN json_build_object('now', v_now, 'claimed', '[]'::json, 'notifications', 'n')::text; END IF;
  IF v_running IS NOT NULL THEN RETURN json_build_object('now', v_now, 'claimed', v_running)::text; END IF;
  PERFORM set_config('duly_work.notifications', '', true);
  v_claim := duly.claim_f1(v_now, p_claim, false);
  -- If the caller claims all that it created, no other node is notified of it.
  RETURN json_build_object('now', v_now, 'claimed', v_claim.claimed, 'scan', v_claim.scan, 'notifications',
    CASE WHEN duly.claimed_all_f1(v_claim.claimed, p_ids) THEN duly.notifications_f1() ELSE 'n' || duly.notifications_f1() END)::text;
END $$;

-- With a dedupe key a call may have to wait for an open transaction: it fails soon and is sent again later, so that no connection is held.
-- call: enqueueKeyed
CREATE FUNCTION duly.enqueue_keyed_f1(p_now bigint, p_groups jsonb, p_claim jsonb, p_repeat boolean) RETURNS text LANGUAGE plpgsql
SET lock_timeout = '100ms'
SET plan_cache_mode = force_generic_plan SET jit = off SET enable_seqscan = off SET enable_bitmapscan = off
SET enable_hashjoin = off SET enable_mergejoin = off AS $$
BEGIN
  RETURN duly.enqueue_groups_f1(duly.begin_f1(p_now), p_groups, p_claim, p_repeat);
END $$;

-- Creates groups of jobs one by one. How long it waits for locks is set by the functions that call it.
CREATE FUNCTION duly.enqueue_groups_f1(p_now bigint, p_groups jsonb, p_claim jsonb, p_repeat boolean) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  v_replies json[] := '{}';
  v_items json[];
  v_group jsonb;
  v_spec jsonb;
  v_keyed jsonb;
  v_claimed json := '[]';
  v_state text;
  v_message text;
  v_hint text;
  v_detail text;
BEGIN
  SELECT jsonb_agg(s) INTO v_keyed FROM jsonb_array_elements(p_groups) g CROSS JOIN jsonb_array_elements(g) s
  WHERE jsonb_typeof(s -> 'dedupe') = 'object';
  IF jsonb_array_length(v_keyed) > 0 THEN PERFORM duly.take_keys_f1(p_now, v_keyed); END IF;
  -- Then the serial keys: of the jobs, and of those that hold a key or follow and may be moved.
  PERFORM duly.lock_serials_f1(ARRAY(
    SELECT duly.serial_ref_f1(s ->> 'tenant', s ->> 'serial') FROM jsonb_array_elements(p_groups) g CROSS JOIN jsonb_array_elements(g) s
    -- One that is made in the user's own transaction takes no place, and must not keep others from theirs until the commit.
    WHERE s ->> 'serial' IS NOT NULL AND NOT coalesce((s ->> 'unplaced')::boolean, false)
    UNION SELECT duly.serial_ref_f1(j.tenant, j.serial) FROM jsonb_array_elements(v_keyed) s
    JOIN duly.dedupes d ON d.type = ANY (ARRAY[s ->> 'type']) AND d.tenant = coalesce(s ->> 'tenant', '') AND d.key = s -> 'dedupe' ->> 'key'
    JOIN duly.jobs j ON j.id = ANY (ARRAY[d.job_id, d.follow_id]) WHERE j.serial IS NOT NULL));
  IF p_repeat THEN PERFORM duly.take_ids_f1(p_now, p_groups); END IF;
  FOR v_group IN SELECT * FROM jsonb_array_elements(p_groups) LOOP
    LOOP
      BEGIN
        v_items := '{}';
        FOR v_spec IN SELECT * FROM jsonb_array_elements(v_group) LOOP
          v_items := v_items || duly.create_job_f1(p_now, v_spec, p_repeat);
        END LOOP;
        v_replies := v_replies || json_build_object('ok', true, 'items', array_to_json(v_items));
        EXIT;
      EXCEPTION
        WHEN SQLSTATE 'DU010' THEN CONTINUE;
        WHEN SQLSTATE 'DU001' OR SQLSTATE 'DU002' THEN
          GET STACKED DIAGNOSTICS v_state = RETURNED_SQLSTATE, v_message = MESSAGE_TEXT, v_hint = PG_EXCEPTION_HINT, v_detail = PG_EXCEPTION_DETAIL;
          v_replies := v_replies || duly.refusal_f1(v_state, v_message, v_hint, v_detail);
          EXIT;
      END;
    END LOOP;
  END LOOP;
  IF jsonb_array_length(v_keyed) > 0 THEN PERFORM duly.drop_keys_f1(v_keyed); END IF;
  IF p_claim IS NOT NULL THEN
    v_claimed := (duly.claim_f1(p_now, p_claim, p_repeat)).claimed;
    -- If the caller claims all that it created, no other node is notified of it.
    IF duly.claimed_all_f1(v_claimed, ARRAY(
      SELECT s ->> 'id' FROM jsonb_array_elements(p_groups) g CROSS JOIN jsonb_array_elements(g) s)) THEN
      PERFORM duly.drop_notification_f1('n');
    END IF;
  END IF;
  RETURN json_build_object('now', p_now, 'notifications', duly.notifications_f1(), 'groups', array_to_json(v_replies), 'claimed', v_claimed)::text;
END $$;

-- Settling and claiming in one call.

-- Settles attempts, and returns the places of those that were lost. The parameters are those of exchange.
CREATE FUNCTION duly.settle_all_f1(
  p_now bigint, p_ids text[], p_fences bigint[], p_results text[], p_places bigint[], p_settle jsonb, p_repeat boolean
) RETURNS bigint[] LANGUAGE plpgsql AS $$
DECLARE
  v_done bigint[] := '{}';
  v_lost bigint[] := '{}';
  v_settle jsonb := p_settle;
  v_one jsonb;
BEGIN
  IF p_ids IS NOT NULL THEN
    -- Those who wait for one of them will want their serial places.
    IF EXISTS (SELECT 1 FROM duly.gates) THEN
      PERFORM duly.lock_serials_f1(ARRAY(
        SELECT duly.serial_ref_f1(w.tenant, w.serial) FROM duly.gates g JOIN duly.jobs w ON w.id = ANY (ARRAY[g.job])
        WHERE g.ref = ANY (p_ids) AND g.kind <> 'serial' AND w.serial IS NOT NULL));
    END IF;
    v_done := duly.settle_returned_f1(p_now, p_ids, p_fences, p_results);
    IF cardinality(v_done) < cardinality(p_ids) THEN
      -- What could not be ended together is judged by itself, in its place.
      SELECT coalesce(v_settle, '[]') || jsonb_agg(jsonb_build_object('id', s.id, 'fence', s.fence, 'to', 'COMPLETED', 'reason', 'returned',
        'spends', true, 'started', true, 'loss', 'none', 'result', s.result, 'i', coalesce(s.place, s.i - 1))) INTO v_settle
      FROM unnest(p_ids, p_fences, p_results, p_places) WITH ORDINALITY AS s (id, fence, result, place, i) WHERE NOT s.i = ANY (v_done);
    END IF;
  END IF;
  IF v_settle IS NOT NULL THEN
    PERFORM duly.lock_dependents_f1(ARRAY(SELECT s ->> 'id' FROM jsonb_array_elements(v_settle) s));
    FOR v_one IN SELECT s FROM jsonb_array_elements(v_settle) s ORDER BY (s ->> 'i')::bigint LOOP
      IF NOT duly.settle_f1(p_now, v_one, p_repeat) THEN v_lost := v_lost || (v_one ->> 'i')::bigint; END IF;
    END LOOP;
  END IF;
  RETURN v_lost;
END $$;

-- \`p_ids\` …: attempts that returned and used one up, with their places in the caller's list (null: as they stand); \`p_settle\`: the
-- others, each with its place.
-- call: exchange
CREATE FUNCTION duly.exchange_f1(
  p_now bigint, p_ids text[], p_fences bigint[], p_results text[], p_places bigint[], p_settle jsonb, p_claim jsonb, p_repeat boolean
) RETURNS text LANGUAGE plpgsql
SET lock_timeout = '2s'
SET plan_cache_mode = force_generic_plan SET jit = off SET enable_seqscan = off SET enable_bitmapscan = off
SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
  -- As begin does, but this call has a transaction of its own, in which nothing was notified before.
  v_now bigint := coalesce(p_now, floor(extract(epoch FROM statement_timestamp()) * 1000)::bigint);
  v_lost bigint[];
  v_claim record;
BEGIN
  IF p_ids IS NOT NULL OR p_settle IS NOT NULL THEN
    v_lost := duly.settle_all_f1(v_now, p_ids, p_fences, p_results, p_places, p_settle, p_repeat);
  END IF;
  IF p_claim IS NULL THEN
    RETURN json_build_object('now', v_now, 'notifications', duly.notifications_f1(), 'lost', coalesce(to_json(v_lost), '[]'), 'claimed', '[]'::json,
      'more', false, 'soloSinceAt', NULL, 'nextDueAt', NULL)::text;
  END IF;
  v_claim := duly.claim_f1(v_now, p_claim, p_repeat);
  RETURN json_build_object('now', v_now, 'notifications', duly.notifications_f1(), 'lost', coalesce(to_json(v_lost), '[]'), 'claimed', v_claim.claimed,
    'more', v_claim.more, 'soloSinceAt', v_claim.solo_since, 'nextDueAt', v_claim.next_at, 'scan', v_claim.scan)::text;
END $$;

-- One schedule's decisions: compares and sets first, so that of a conflict nothing is written; what fails after that fails the whole call.
CREATE FUNCTION duly.fire_group_f1(p_now bigint, p_node text, p_group jsonb) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  v_id text := p_group ->> 'scheduleId';
  v_version bigint := (p_group ->> 'version')::bigint;
  v_fence bigint := (p_group ->> 'fence')::bigint;
  v_waits text := p_group ->> 'waitsFor';
  v_over boolean := false;
  v_generation integer;
  v_one jsonb;
BEGIN
  IF NOT EXISTS (SELECT 1 FROM duly.schedule_leases WHERE fence = v_fence AND v_id = ANY (ids)) THEN RETURN 'conflict'; END IF;
  IF jsonb_typeof(p_group -> 'slotDetails') = 'array' AND NOT duly.all_wait_f1(p_group -> 'slotDetails') THEN
    PERFORM 1 FROM duly.schedules WHERE id = v_id AND version = v_version;
    IF NOT FOUND THEN RETURN 'conflict'; END IF;
    PERFORM duly.leave_leases_f1(ARRAY[v_fence], ARRAY[v_id]);
    RETURN 'stale';
  END IF;
  -- A job of this write has not ended: if it ends in this write, its end makes the schedule due.
  IF v_waits IS NOT NULL AND NOT jsonb_path_exists(p_group -> 'jobs', '$[*] ? (@.id == $id)', jsonb_build_object('id', v_waits)) THEN
    v_over := duly.is_over_f1(v_waits);
  END IF;
  UPDATE duly.schedules SET state = p_group ->> 'state', due_at = CASE WHEN v_over THEN p_now ELSE (p_group ->> 'dueAt')::bigint END,
    waits_for = v_waits, version = version + 1, updated_at = p_now
  WHERE id = v_id AND version = v_version RETURNING generation INTO v_generation;
  IF NOT FOUND THEN RETURN 'conflict'; END IF;
  PERFORM duly.end_others_f1(p_now, p_group -> 'cancel', p_node);
  FOR v_one IN SELECT * FROM jsonb_array_elements(p_group -> 'jobs') LOOP PERFORM duly.create_job_f1(p_now, v_one, false); END LOOP;
  FOR v_one IN SELECT * FROM jsonb_array_elements(p_group -> 'slots') LOOP
    PERFORM duly.add_slot_f1(p_now, v_id, v_generation, v_one);
  END LOOP;
  IF jsonb_typeof(p_group -> 'slotDetails') = 'array' THEN PERFORM duly.set_slot_details_f1(p_group -> 'slotDetails'); END IF;
  -- As a rule no notification for schedules: the node that fired comes back when it planned to, and the others saw its lease and look again when
  -- that would have ended. But it did not plan to come back at once.
  IF v_over THEN PERFORM duly.add_notification_f1('s'); END IF;
  RETURN 'fired';
END $$;

-- Decisions of many schedules that fire one slot each and create one plain job for it, written together with one statement for each table.
-- If one of the schedules was changed or taken meanwhile nothing is done (DU009), and the caller sends them one by one. All lists are in one
-- order; kinds and lists of the jobs are those of insert_jobs, and a kind also says what the schedules and the rows of the ledger share.
-- Returns the jobs that run, or null if none does.
CREATE FUNCTION duly.fire_plain_f1(
  p_now bigint, p_fence bigint, p_ids text[], p_versions bigint[], p_states text[], p_dues bigint[], p_specs jsonb, p_kind integer[],
  p_jobs text[], p_inputs text[], p_job_dues bigint[], p_rank_offsets bigint[], p_tenants text[], p_metadata text[], p_slot_ats bigint[],
  p_slots text[], p_slot_details text[], p_claim jsonb)
RETURNS json LANGUAGE plpgsql AS $$
DECLARE
  v_held text[];
  v_moved text[];
  v_running json;
BEGIN
  SELECT ids INTO v_held FROM duly.schedule_leases WHERE fence = p_fence;
  WITH moved AS (
    UPDATE duly.schedules s SET state = f.state, due_at = f.due, waits_for = CASE WHEN k.waits THEN f.job END, version = s.version + 1,
      updated_at = p_now
    FROM unnest(p_ids, p_versions, p_states, p_dues, p_jobs, p_slot_ats, p_kind) AS f (id, version, state, due, job, slot_at, kind)
    CROSS JOIN LATERAL jsonb_to_record(p_specs -> (coalesce(f.kind, 1) - 1)) AS k (waits boolean, decision text, reason text, node text)
    WHERE s.id = ANY (ARRAY[f.id]) AND s.version = f.version
    RETURNING s.id, s.generation, f.slot_at, f.job, k.decision, k.reason, k.node),
  slotted AS (
    INSERT INTO duly.slots (schedule_id, generation, from_at, to_at, count, decision, reason, node, job_id, decided_at, last_decided_at)
    SELECT id, generation, slot_at, slot_at, 1, decision, reason, node, job, p_now, p_now FROM moved)
  SELECT array_agg(id) INTO v_moved FROM moved;
  -- As a rule a claim is decided whole, in its order.
  IF coalesce(cardinality(v_moved), 0) < cardinality(p_ids) OR (v_held IS DISTINCT FROM v_moved AND EXISTS (
    SELECT unnest(v_moved) EXCEPT SELECT unnest(v_held))) THEN
    RAISE EXCEPTION USING ERRCODE = 'DU009', MESSAGE = 'A schedule was changed or taken meanwhile.';
  END IF;
  v_running := duly.insert_jobs_f1(p_now, p_specs, p_claim, p_kind, p_jobs, p_inputs, p_job_dues, p_rank_offsets, p_tenants, p_metadata, p_ids,
    p_slot_ats, p_slots, p_slot_details);
  IF v_running IS NULL THEN PERFORM duly.add_notification_f1('n'); END IF;
  RETURN v_running;
END $$;

-- The parameters from \`p_fence\` to \`p_slot_details\` are those of fire_plain, null for none; \`p_groups\`: the other decisions, one by one; \`p_fences\`: under
-- which all of them were claimed.
-- call: fire
CREATE FUNCTION duly.fire_f1(
  p_now bigint, p_node text, p_fence bigint, p_ids text[], p_versions bigint[], p_states text[], p_dues bigint[], p_specs jsonb, p_kind integer[],
  p_jobs text[], p_inputs text[], p_job_dues bigint[], p_rank_offsets bigint[], p_tenants text[], p_metadata text[], p_slot_ats bigint[],
  p_slots text[], p_slot_details text[], p_groups jsonb, p_fences bigint[], p_claim jsonb, p_created text[])
RETURNS text LANGUAGE plpgsql
SET lock_timeout = '2s'
SET plan_cache_mode = force_generic_plan SET jit = off SET enable_seqscan = off SET enable_bitmapscan = off
SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
  v_now bigint := duly.begin_f1(p_now);
  v_group jsonb;
  v_outcome text;
  v_outcomes text[] := '{}';
  v_done integer := coalesce(cardinality(p_ids), 0);
  v_claimed json;
BEGIN
  -- Before anything else: who takes an ended lease over locks it too.
  PERFORM 1 FROM duly.schedule_leases WHERE fence = ANY (p_fences) ORDER BY fence FOR UPDATE;
  IF p_ids IS NOT NULL THEN
    v_claimed := duly.fire_plain_f1(v_now, p_fence, p_ids, p_versions, p_states, p_dues, p_specs, p_kind, p_jobs, p_inputs, p_job_dues,
      p_rank_offsets, p_tenants, p_metadata, p_slot_ats, p_slots, p_slot_details, CASE WHEN p_groups = '[]' THEN p_claim END);
  END IF;
  FOR v_group IN SELECT * FROM jsonb_array_elements(p_groups) LOOP
    v_outcome := duly.fire_group_f1(v_now, p_node, v_group);
    v_outcomes := v_outcomes || v_outcome;
    IF v_outcome = 'fired' THEN v_done := v_done + 1; END IF;
  END LOOP;
  -- As a rule everything that was claimed together is decided together.
  DELETE FROM duly.schedule_leases WHERE cardinality(p_fences) = 1 AND fence = p_fences[1] AND cardinality(ids) = v_done;
  IF NOT FOUND THEN PERFORM duly.leave_leases_f1(p_fences, '{}'); END IF;
  IF p_claim IS NOT NULL AND v_claimed IS NULL THEN
    v_claimed := (duly.claim_f1(v_now, p_claim, false)).claimed;
    -- If the caller claims all that it created, no other node is woken for it.
    IF duly.claimed_all_f1(v_claimed, p_created) THEN PERFORM duly.drop_notification_f1('n'); END IF;
  END IF;
  RETURN json_build_object('now', v_now, 'notifications', duly.notifications_f1(), 'groups', array_to_json(v_outcomes), 'claimed', coalesce(v_claimed, '[]'::json))::text;
END $$;

-- Renews leases and writes beginnings. A row that is locked is being settled under its own fence, perhaps in somebody's long transaction:
-- told \`kept\`, not waited for. Or a reaper is just taking it over: that one is waited for, so that both say the same. A beginning that is not
-- written yet is never passed over: who is told \`kept\` starts the handler, and if the store did not know, a job that may start once would start again.
-- call: heartbeat
CREATE FUNCTION duly.heartbeat_f1(p_now bigint, p_lease_ms bigint, p_leases jsonb) RETURNS text LANGUAGE plpgsql
SET lock_timeout = '2s'
SET plan_cache_mode = force_generic_plan SET jit = off SET enable_seqscan = off SET enable_bitmapscan = off
SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
  v_now bigint := duly.begin_f1(p_now);
  -- Whose beginning is to be written, of those that are held under the fence they were sent with.
  v_begun text[] := ARRAY(
    SELECT b.id FROM jsonb_to_recordset(p_leases) AS b (id text, fence bigint, begun boolean)
    JOIN duly.leases l ON l.id = ANY (ARRAY[b.id]) AND l.fence = b.fence WHERE b.begun);
  v_rows tid[];
  v_held integer;
  v_answer json;
BEGIN
  -- First, while nothing else is held: as a rule another heartbeat of the same node has the row, and it is waited for (at most 2 s).
  PERFORM 1 FROM jsonb_to_recordset(p_leases) AS b (id text, fence bigint, begun boolean)
    JOIN duly.leases l ON l.id = ANY (ARRAY[b.id]) AND l.fence = b.fence
  WHERE b.begun AND l.begun_at IS NULL ORDER BY b.id FOR UPDATE OF l;
  SELECT array_agg(h.ctid) INTO v_rows FROM (
    SELECT l.ctid FROM jsonb_to_recordset(p_leases) AS b (id text, fence bigint)
    JOIN duly.leases l ON l.id = ANY (ARRAY[b.id]) AND l.fence = b.fence ORDER BY b.id FOR UPDATE OF l SKIP LOCKED) h;
  UPDATE duly.leases l SET until_at = v_now + p_lease_ms,
    begun_at = coalesce(l.begun_at, CASE WHEN l.id = ANY (v_begun) THEN v_now END)
  WHERE l.ctid = ANY (coalesce(v_rows, '{}'));
  GET DIAGNOSTICS v_held = ROW_COUNT;
  IF v_held < jsonb_array_length(p_leases) THEN PERFORM pg_advisory_xact_lock(hashtext('duly.reap')); END IF;
  -- null: lost; 0: kept; else when it was asked to cancel.
  SELECT json_agg(CASE WHEN l.id IS NOT NULL THEN coalesce(l.cancel_at, 0) END ORDER BY b.i) INTO v_answer
  FROM ROWS FROM (jsonb_to_recordset(p_leases) AS (id text, fence bigint)) WITH ORDINALITY AS b (id, fence, i)
  LEFT JOIN duly.leases l ON l.id = ANY (ARRAY[b.id]) AND l.fence = b.fence;
  RETURN json_build_object('now', v_now, 'leases', coalesce(v_answer, '[]'::json))::text;
END $$;

-- The insert of every verb that creates jobs. A spec is a JSON object as job-columns.ts writes it; fields that are JSON
-- themselves are strings in it.

-- Whether the plain branches may be taken. A test replaces this function, so that everything goes through the full branches.
CREATE FUNCTION duly.allows_plain_f1() RETURNS boolean LANGUAGE sql IMMUTABLE AS $$
  SELECT true
$$;

-- Whether creating the job touches no other job. The same rule in TypeScript is isPlain (lifecycle/is-plain.ts).
CREATE FUNCTION duly.is_plain_f1(p_spec jsonb) RETURNS boolean LANGUAGE sql IMMUTABLE AS $$
  SELECT p_spec ->> 'dedupe' IS NULL AND p_spec ->> 'parentId' IS NULL AND p_spec ->> 'serial' IS NULL
    AND coalesce(p_spec -> 'gates', '[]') = '[]'
$$;

CREATE FUNCTION duly.due_of_f1(p_now bigint, p_due jsonb) RETURNS bigint LANGUAGE sql AS $$
  SELECT coalesce((p_due ->> 'at')::bigint, p_now + (p_due ->> 'inMs')::bigint)
$$;

CREATE FUNCTION duly.are_plain_f1(p_specs jsonb) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
  RETURN NOT EXISTS (SELECT 1 FROM jsonb_array_elements(p_specs) s WHERE NOT duly.is_plain_f1(s));
END $$;

-- The entry of the feed for plain jobs that differ in type or status.
CREATE FUNCTION duly.created_entries_f1(p_now bigint, p_specs jsonb, p_kind integer[], p_ids text[], p_dues bigint[]) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
  RETURN (
    SELECT json_build_array(p_ids, json_agg(k.type ORDER BY j.n),
      json_agg(CASE WHEN coalesce(p_dues[j.n], k.at, p_now + k."inMs") <= p_now THEN 'PENDING' ELSE 'SCHEDULED' END ORDER BY j.n), 'created', 0)::text
    FROM unnest(p_ids) WITH ORDINALITY AS j (id, n)
    CROSS JOIN LATERAL jsonb_to_record(p_specs -> (coalesce(p_kind[j.n], 1) - 1)) AS k (type text, at bigint, "inMs" bigint));
END $$;

-- Creates jobs. The plain branch gets a batch: what jobs share is a kind, one object of \`p_specs\` with its number \`n\`, and each list
-- holds one field of all jobs. A list that is null says that the kinds hold the field; \`p_kind\` null: there is one kind. The full branch
-- gets one job: \`p_specs\` is its spec. \`p_run_now\` is the claim that came with the jobs: if it would take exactly these jobs, they are
-- inserted as RUNNING.
--
-- Returns what became of the job, as enqueue replies it (full); the fences of the jobs that run and what the scan found, or null if none
-- runs (plain).
CREATE FUNCTION duly.insert_jobs_f1(
  p_now bigint, p_specs jsonb, p_run_now jsonb DEFAULT NULL, p_kind integer[] DEFAULT NULL, p_ids text[] DEFAULT NULL,
  p_inputs text[] DEFAULT NULL, p_dues bigint[] DEFAULT NULL, p_rank_offsets bigint[] DEFAULT NULL, p_tenants text[] DEFAULT NULL,
  p_metadata text[] DEFAULT NULL, p_schedule_ids text[] DEFAULT NULL, p_slot_ats bigint[] DEFAULT NULL, p_slots text[] DEFAULT NULL,
  p_slot_details text[] DEFAULT NULL)
RETURNS json LANGUAGE plpgsql AS $$
DECLARE
  v_kind jsonb := p_specs -> 0;
  v_read bigint;
  v_fences json;
BEGIN
  -- Plain: no job of the batch has a dedupe key, a parent, a gate or a serial key, so creating them touches no other job, and one
  -- statement inserts them all. It fails (unique violation) if an id exists, and the caller sends the jobs one by one: to look first,
  -- or ON CONFLICT, would cost every call a third more. Full: everything else, one job at a time.
  IF p_ids IS NULL THEN RETURN duly.insert_full_f1(p_now, p_specs); END IF;
  IF NOT (duly.allows_plain_f1() AND duly.is_plain_f1(v_kind) AND (p_kind IS NULL OR duly.are_plain_f1(p_specs))) THEN
    RAISE EXCEPTION USING ERRCODE = 'DU009', MESSAGE = 'Jobs that touch other jobs are not created by columns.';
  END IF;
  IF p_run_now IS NOT NULL AND p_kind IS NULL THEN
    v_read := pg_stat_get_xact_blocks_fetched('duly.jobs'::regclass);
    IF duly.takes_only_f1(p_now, p_run_now, v_kind, p_dues, cardinality(p_ids)) THEN
      v_read := pg_stat_get_xact_blocks_fetched('duly.jobs'::regclass) - v_read;
      v_fences := duly.insert_running_f1(p_now, v_kind, p_run_now, p_ids, p_inputs, p_dues, p_rank_offsets, p_tenants, p_metadata,
        p_schedule_ids, p_slot_ats, p_slots, p_slot_details);
      -- The caller knows the rest of the jobs. As claim_full reports it: nothing is ready in any lane.
      RETURN json_build_object('fences', v_fences, 'scan', CASE WHEN p_run_now -> 'scanHints' IS NOT NULL OR v_read > 300 THEN
        json_build_object('isFull', p_run_now -> 'scanHints' IS NULL, 'pages', v_read, 'isAllPromoted', true, 'lanes', '[]'::json) END);
    END IF;
  END IF;
  -- One kind is read once, beside the jobs in their order; of several, each job reads its own.
  IF p_kind IS NULL THEN
    WITH created AS (
      INSERT INTO duly.jobs (
        id, type, version, queue, tenant, priority, input, metadata, policy, origin, rank_offset, copy_of, status, rank, due_at, expire_at, created_at, updated_at, max_attempts,
        schedule_id, slot, slot_at, slot_allow, slot_details, retention_ms, dead_retention_ms)
      SELECT j.id, k."type", k."version", k."queue", coalesce(p_tenants[j.n], k.tenant), k."priority", j.input, coalesce(p_metadata[j.n], k.metadata), k."policy", k."origin", d.rank_offset, k."copyOf",
        CASE WHEN d.due <= p_now THEN 'PENDING' ELSE 'SCHEDULED' END, CASE WHEN d.due <= p_now THEN d.due + d.rank_offset END,
        d.due, d.due + k."startDeadlineMs", p_now, p_now, k."maxAttempts", coalesce(p_schedule_ids[j.n], k."scheduleId"),
        coalesce(p_slots[j.n], k.slot), coalesce(p_slot_ats[j.n], k."slotAt"), coalesce(k."slotAllow", false),
        coalesce(p_slot_details[j.n], k."slotDetails"), k."retentionMs", k."deadRetentionMs"
      FROM unnest(p_ids, p_inputs) WITH ORDINALITY AS j (id, input, n)
      CROSS JOIN jsonb_to_record(v_kind) AS k (
        "type" text, "version" integer, "queue" text, "tenant" text, "priority" integer, "metadata" text, "policy" text, "origin" text, "rankOffsetMs" bigint, "copyOf" text, at bigint, "inMs" bigint, "startDeadlineMs" bigint, "maxAttempts" integer,
        "retentionMs" bigint, "deadRetentionMs" bigint, "scheduleId" text, slot text, "slotAt" bigint, "slotAllow" boolean, "slotDetails" text)
      CROSS JOIN LATERAL (
        SELECT coalesce(p_dues[j.n], k.at, p_now + k."inMs") AS due, coalesce(p_rank_offsets[j.n], k."rankOffsetMs") AS rank_offset) d)
    INSERT INTO duly.changes (at, n, entries)
    SELECT p_now, cardinality(p_ids), CASE WHEN p_dues IS NULL THEN json_build_array(p_ids, v_kind -> 'type',
        CASE WHEN duly.due_of_f1(p_now, v_kind) <= p_now THEN 'PENDING' ELSE 'SCHEDULED' END, 'created', 0)::text
      ELSE duly.created_entries_f1(p_now, p_specs, p_kind, p_ids, p_dues) END;
  ELSE
    WITH created AS (
      INSERT INTO duly.jobs (
        id, type, version, queue, tenant, priority, input, metadata, policy, origin, rank_offset, copy_of, status, rank, due_at, expire_at, created_at, updated_at, max_attempts,
        schedule_id, slot, slot_at, slot_allow, slot_details, retention_ms, dead_retention_ms)
      SELECT j.id, k."type", k."version", k."queue", coalesce(p_tenants[j.n], k.tenant), k."priority", j.input, coalesce(p_metadata[j.n], k.metadata), k."policy", k."origin", d.rank_offset, k."copyOf",
        CASE WHEN d.due <= p_now THEN 'PENDING' ELSE 'SCHEDULED' END, CASE WHEN d.due <= p_now THEN d.due + d.rank_offset END,
        d.due, d.due + k."startDeadlineMs", p_now, p_now, k."maxAttempts", coalesce(p_schedule_ids[j.n], k."scheduleId"),
        coalesce(p_slots[j.n], k.slot), coalesce(p_slot_ats[j.n], k."slotAt"), coalesce(k."slotAllow", false),
        coalesce(p_slot_details[j.n], k."slotDetails"), k."retentionMs", k."deadRetentionMs"
      FROM unnest(p_ids, p_inputs) WITH ORDINALITY AS j (id, input, n)
      CROSS JOIN LATERAL jsonb_to_record(p_specs -> (p_kind[j.n] - 1)) AS k (
        "type" text, "version" integer, "queue" text, "tenant" text, "priority" integer, "metadata" text, "policy" text, "origin" text, "rankOffsetMs" bigint, "copyOf" text, at bigint, "inMs" bigint, "startDeadlineMs" bigint, "maxAttempts" integer,
        "retentionMs" bigint, "deadRetentionMs" bigint, "scheduleId" text, slot text, "slotAt" bigint, "slotAllow" boolean, "slotDetails" text)
      CROSS JOIN LATERAL (
        SELECT coalesce(p_dues[j.n], k.at, p_now + k."inMs") AS due, coalesce(p_rank_offsets[j.n], k."rankOffsetMs") AS rank_offset) d
      -- In their order: of equal rank the first goes first.
      ORDER BY j.n)
    INSERT INTO duly.changes (at, n, entries)
    VALUES (p_now, cardinality(p_ids), duly.created_entries_f1(p_now, p_specs, p_kind, p_ids, p_dues));
  END IF;
  -- Always null: an expression costs less than a PERFORM.
  RETURN CASE WHEN NOT duly.refuse_late_f1(p_ids) THEN '{}'::json END;
END $$;

-- Inserts plain jobs of one kind as RUNNING, with leases for the worker whose claim came along. That saves a version of each row and its entry
-- in the index of ready jobs. Returns their fences.
CREATE FUNCTION duly.insert_running_f1(
  p_now bigint, p_kind jsonb, p_claim jsonb, p_ids text[], p_inputs text[], p_dues bigint[], p_rank_offsets bigint[], p_tenants text[],
  p_metadata text[], p_schedule_ids text[], p_slot_ats bigint[], p_slots text[], p_slot_details text[])
RETURNS json LANGUAGE plpgsql AS $$
DECLARE v_fences json;
BEGIN
  WITH created AS (
    INSERT INTO duly.jobs (
      id, type, version, queue, tenant, priority, input, metadata, policy, origin, rank_offset, copy_of, status, due_at, expire_at, created_at, updated_at, started_at, lateness_ms, fence, node, claimed_at,
      attempt, max_attempts, schedule_id, slot, slot_at, slot_allow, slot_details, retention_ms, dead_retention_ms)
    SELECT j.id, k."type", k."version", k."queue", coalesce(p_tenants[j.n], k.tenant), k."priority", j.input, coalesce(p_metadata[j.n], k.metadata), k."policy", k."origin", coalesce(p_rank_offsets[j.n], k."rankOffsetMs"), k."copyOf",
      'RUNNING', d.due, d.due + k."startDeadlineMs", p_now, p_now, p_now, p_now - d.due, nextval('duly.fence'), p_claim ->> 'node', p_now,
      1, k."maxAttempts", coalesce(p_schedule_ids[j.n], k."scheduleId"), coalesce(p_slots[j.n], k.slot), coalesce(p_slot_ats[j.n], k."slotAt"),
      coalesce(k."slotAllow", false), coalesce(p_slot_details[j.n], k."slotDetails"), k."retentionMs", k."deadRetentionMs"
    FROM jsonb_to_record(p_kind) AS k (
      "type" text, "version" integer, "queue" text, "tenant" text, "priority" integer, "metadata" text, "policy" text, "origin" text, "rankOffsetMs" bigint, "copyOf" text, at bigint, "inMs" bigint, "startDeadlineMs" bigint, "maxAttempts" integer,
      "retentionMs" bigint, "deadRetentionMs" bigint, "scheduleId" text, slot text, "slotAt" bigint, "slotAllow" boolean, "slotDetails" text)
    CROSS JOIN unnest(p_ids, p_inputs) WITH ORDINALITY AS j (id, input, n)
    CROSS JOIN LATERAL (SELECT coalesce(p_dues[j.n], k.at, p_now + k."inMs") AS due) d
    RETURNING id, seq, fence),
  leased AS (
    INSERT INTO duly.leases (id, seq, fence, node, token, plain, until_at)
    SELECT id, seq, fence, p_claim ->> 'node', p_claim ->> 'token', true, p_now + (p_claim ->> 'leaseMs')::bigint FROM created),
  noted AS (
    INSERT INTO duly.changes (at, n, entries) VALUES
      (p_now, cardinality(p_ids), json_build_array(p_ids, p_kind -> 'type', 'PENDING', 'created', 0)::text),
      (p_now, cardinality(p_ids), json_build_array(p_ids, p_kind -> 'type', 'RUNNING', 'claimed', 0)::text))
  SELECT json_agg(fence) INTO v_fences FROM created;
  RETURN CASE WHEN duly.refuse_late_f1(p_ids) THEN v_fences END;
END $$;

-- Whether a claim would take exactly these new jobs of one kind: all of them are due, and nothing else is ready, due, overdue or paused.
CREATE FUNCTION duly.takes_only_f1(p_now bigint, p_claim jsonb, p_kind jsonb, p_dues bigint[], p_count integer)
RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
  RETURN p_now >= ALL (coalesce(p_dues, ARRAY[duly.due_of_f1(p_now, p_kind)]))
    AND coalesce(p_now - (p_kind ->> 'startDeadlineMs')::bigint <= ALL (coalesce(p_dues, ARRAY[duly.due_of_f1(p_now, p_kind)])), true)
    AND (p_claim ->> 'limit')::integer >= p_count
    AND (jsonb_typeof(p_claim -> 'queues') <> 'array' OR p_claim -> 'queues' ? (p_kind ->> 'queue'))
    AND EXISTS (
      SELECT 1 FROM jsonb_array_elements(p_claim -> 'tasks') t
      WHERE t -> 'type' = p_kind -> 'type' AND (t ->> 'version')::integer >= (p_kind ->> 'version')::integer
        AND (t ->> 'limit')::integer >= p_count)
    AND NOT EXISTS (SELECT 1 FROM duly.jobs WHERE rank IS NOT NULL AND solo > 0)
    AND CASE WHEN p_claim -> 'scanHints' IS NULL THEN NOT EXISTS (SELECT 1 FROM duly.jobs WHERE rank IS NOT NULL)
      ELSE NOT EXISTS (
        SELECT 1 FROM jsonb_to_recordset(p_claim -> 'scanHints' -> 'lanes') AS l (type text, version integer, queue text, rank bigint)
        CROSS JOIN LATERAL (
          SELECT 1 FROM duly.jobs j
          WHERE j.rank IS NOT NULL AND j.solo = 0 AND j.type = l.type AND j.version = l.version AND j.queue = l.queue AND j.rank >= l.rank
          LIMIT 1) r) END
    AND NOT EXISTS (SELECT 1 FROM duly.records WHERE kind = 'pause')
    AND NOT EXISTS (SELECT 1 FROM duly.left_places)
    AND NOT EXISTS (SELECT 1 FROM duly.jobs WHERE expire_at IS NOT NULL AND started_at IS NULL AND expire_at < p_now)
    AND NOT EXISTS (
      SELECT 1 FROM jsonb_array_elements(p_claim -> 'tasks') t CROSS JOIN LATERAL (
        SELECT 1 FROM duly.jobs j WHERE j.rank IS NULL AND j.status IN ('SCHEDULED', 'RETRYING') AND j.type = t ->> 'type' AND j.due_at <= p_now
          AND j.due_at >= coalesce((p_claim -> 'scanHints' ->> 'dueAt')::bigint, -9223372036854775808)
        LIMIT 1) d);
END $$;

-- Refuses a call that arrives after its own repeat, which took its ids (take_ids): the client has the reply to the repeat. Called once
-- the jobs are inserted, so that a repeat that arrives now finds them. True otherwise: an expression costs less than a PERFORM.
CREATE FUNCTION duly.refuse_late_f1(p_ids text[]) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
  -- Many ids are looked up only if there is one at all.
  IF (cardinality(p_ids) <= 8 OR EXISTS (SELECT 1 FROM duly.journal WHERE scope = 'id'))
    AND EXISTS (SELECT 1 FROM duly.journal WHERE scope = 'id' AND key = ANY (p_ids)) THEN
    RAISE EXCEPTION USING ERRCODE = 'DU011', MESSAGE = 'A repeat of this call arrived first.';
  END IF;
  RETURN true;
END $$;

-- Whether a new job that is due has to stand in line for its serial place. Locks the key.
CREATE FUNCTION duly.has_serial_predecessor_f1(p_now bigint, p_tenant text, p_serial text, p_due bigint)
RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE v_ref text;
BEGIN
  IF p_serial IS NULL THEN RETURN false; END IF;
  v_ref := duly.serial_ref_f1(p_tenant, p_serial);
  PERFORM duly.lock_serial_f1(v_ref);
  PERFORM duly.queue_serial_f1(p_now, p_tenant, p_serial, '');
  IF EXISTS (SELECT 1 FROM duly.places WHERE kind = 'serial' AND ref = v_ref) THEN RETURN true; END IF;
  -- It will be the last one made, so of equal due instants it comes last.
  IF duly.has_earlier_f1(v_ref, p_due, 9223372036854775807) THEN PERFORM duly.promote_serial_head_f1(p_now, v_ref); END IF;
  RETURN EXISTS (SELECT 1 FROM duly.places WHERE kind = 'serial' AND ref = v_ref);
END $$;

-- Refuses a spec whose id stands for a job of another type. \`p_type\` null: not known.
CREATE FUNCTION duly.refuse_type_f1(p_spec jsonb, p_type text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  IF p_type <> p_spec ->> 'type' THEN
    PERFORM duly.refuse_f1('group_refused',
      format('Job "%s" exists already with type "%s", not "%s".', p_spec ->> 'id', p_type, p_spec ->> 'type'),
      'Ids are created by the client, one per job. Create a new id for a new job.', json_build_object('id', p_spec ->> 'id'));
  END IF;
END $$;

-- The full branch of insert_jobs: inserts a job into the place that its due time, its gates and its serial key give it. A job that comes
-- back (\`life\`: what it has of its first life) is SCHEDULED until its caller places it.
CREATE FUNCTION duly.insert_full_f1(p_now bigint, p_spec jsonb) RETURNS json LANGUAGE plpgsql AS $$
DECLARE
  v_life jsonb := p_spec -> 'life';
  v_id text := p_spec ->> 'id';
  v_tenant text := p_spec ->> 'tenant';
  v_serial text := p_spec ->> 'serial';
  v_due bigint := duly.due_of_f1(p_now, p_spec);
  v_is_due boolean;
  v_in_line boolean := false;
  -- In a transaction of the user's own no place is taken that others want too; who claims next promotes it.
  v_unplaced boolean := v_life IS NOT NULL OR (v_serial IS NOT NULL AND coalesce((p_spec ->> 'unplaced')::boolean, false));
  v_gates jsonb := '[]';
  v_gate jsonb;
  v_status text;
  v_seq bigint;
  v_known record;
BEGIN
  FOR v_gate IN SELECT * FROM jsonb_array_elements(p_spec -> 'gates') LOOP
    CONTINUE WHEN v_gate ->> 'kind' = 'serial';
    -- The shared lock makes an end of that job wait for us, and its later statement then finds our gate.
    PERFORM 1 FROM duly.jobs WHERE id = v_gate ->> 'ref' FOR KEY SHARE;
    IF FOUND THEN v_gates := v_gates || v_gate; END IF;
  END LOOP;
  v_is_due := v_due <= p_now;
  IF v_gates = '[]' AND v_is_due AND NOT v_unplaced THEN v_in_line := duly.has_serial_predecessor_f1(p_now, v_tenant, v_serial, v_due); END IF;
  v_status := CASE WHEN v_gates <> '[]' OR v_in_line THEN 'BLOCKED' WHEN v_is_due AND NOT v_unplaced THEN 'PENDING' ELSE 'SCHEDULED' END;
  INSERT INTO duly.jobs (
    id, type, version, queue, tenant, priority, input, metadata, policy, origin, rank_offset, serial, copy_of, status, reason, rank, due_at, expire_at, created_at, updated_at, fence, node, claimed_at, attempt, spent, error, attempts,
    max_attempts, dedupe_key, parent_id, parent_key, schedule_id, slot, slot_at, slot_allow, slot_details, retention_ms, dead_retention_ms
  ) VALUES (
    (p_spec ->> 'id')::text, (p_spec ->> 'type')::text, (p_spec ->> 'version')::integer, (p_spec ->> 'queue')::text, (p_spec ->> 'tenant')::text, (p_spec ->> 'priority')::integer, (p_spec ->> 'input')::text, (p_spec ->> 'metadata')::text, (p_spec ->> 'policy')::text, (p_spec ->> 'origin')::text, (p_spec ->> 'rankOffsetMs')::bigint, (p_spec ->> 'serial')::text, (p_spec ->> 'copyOf')::text,
    v_status, v_life ->> 'reason', CASE WHEN v_status = 'PENDING' THEN v_due + (p_spec ->> 'rankOffsetMs')::bigint END,
    v_due, v_due + (p_spec ->> 'startDeadlineMs')::bigint, coalesce((v_life ->> 'createdAt')::bigint, p_now), p_now,
    coalesce((v_life ->> 'fence')::bigint, 0), v_life ->> 'node', (v_life ->> 'claimedAt')::bigint, coalesce((v_life ->> 'attempt')::integer, 0),
    coalesce((v_life ->> 'spent')::integer, 0), v_life ->> 'error', coalesce(v_life ->> 'attempts', '[]'),
    (p_spec ->> 'maxAttempts')::integer, p_spec -> 'dedupe' ->> 'key', p_spec ->> 'parentId',
    p_spec ->> 'parentKey', p_spec ->> 'scheduleId', p_spec ->> 'slot', (p_spec ->> 'slotAt')::bigint,
    coalesce((p_spec ->> 'slotAllow')::boolean, false), p_spec ->> 'slotDetails',
    (p_spec ->> 'retentionMs')::bigint, (p_spec ->> 'deadRetentionMs')::bigint
  ) ON CONFLICT (id) DO NOTHING RETURNING seq INTO v_seq;
  IF v_life IS NOT NULL THEN
    IF v_seq IS NULL THEN RAISE unique_violation USING MESSAGE = format('Job "%s" was created again meanwhile.', v_id); END IF;
    RETURN NULL;
  END IF;
  IF v_seq IS NULL THEN
    -- It may have ended since the conflict.
    v_known := duly.find_brief_f1(v_id);
    PERFORM duly.refuse_type_f1(p_spec, v_known.type);
    RETURN duly.item_f1(v_id, coalesce(v_known.status, 'COMPLETED'), coalesce(v_known.due_at, p_now), false);
  END IF;
  FOR v_gate IN SELECT * FROM jsonb_array_elements(v_gates) LOOP
    INSERT INTO duly.gates (kind, ref, order_at, seq, job) VALUES (v_gate ->> 'kind', v_gate ->> 'ref', 0, v_seq, v_id)
    ON CONFLICT DO NOTHING;
  END LOOP;
  IF v_in_line THEN
    INSERT INTO duly.gates (kind, ref, order_at, seq, job)
    VALUES ('serial', duly.serial_ref_f1(v_tenant, v_serial), v_due, v_seq, v_id);
  ELSIF v_status = 'PENDING' AND v_serial IS NOT NULL THEN
    INSERT INTO duly.places (kind, ref, job) VALUES ('serial', duly.serial_ref_f1(v_tenant, v_serial), v_id);
  END IF;
  PERFORM duly.changed_f1(p_now, v_id, p_spec ->> 'type', v_status, 'created', 0);
  -- Also for later ones: a sleeping node may have to wake earlier than it thought.
  IF v_status <> 'BLOCKED' THEN PERFORM duly.add_notification_f1('n'); END IF;
  RETURN duly.item_f1(v_id, v_status, v_due, false);
END $$;

-- call: acquire
CREATE FUNCTION duly.acquire_f1(p_now bigint, p_name text, p_token text, p_holder text, p_ttl_ms bigint) RETURNS text LANGUAGE plpgsql
SET lock_timeout = '2s'
SET plan_cache_mode = force_generic_plan SET jit = off SET enable_seqscan = off SET enable_bitmapscan = off
SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
  v_now bigint := duly.begin_f1(p_now);
  v_created bigint;
  v_lock duly.locks;
BEGIN
  LOOP
    SELECT * INTO v_lock FROM duly.locks WHERE name = p_name FOR UPDATE;
    -- It may have been waited for, until its holder gave it back.
    v_now := duly.after_lock_f1(duly.now_f1(p_now));
    IF v_lock.name IS NOT NULL THEN
      IF v_lock.until_at > v_now THEN
        IF v_lock.token = p_token THEN PERFORM duly.confirm_f1(); END IF;
        RETURN json_build_object('now', v_now, 'acquired', v_lock.token = p_token, 'fence', v_lock.fence, 'untilAt', v_lock.until_at,
          'holder', v_lock.holder)::text;
      END IF;
      UPDATE duly.locks SET fence = nextval('duly.fence'), until_at = v_now + p_ttl_ms, token = p_token, holder = p_holder
      WHERE name = p_name RETURNING * INTO v_lock;
      EXIT;
    END IF;
    INSERT INTO duly.locks (name, fence, until_at, token, holder) VALUES (p_name, nextval('duly.fence'), v_now + p_ttl_ms, p_token, p_holder)
    ON CONFLICT (name) DO NOTHING RETURNING * INTO v_lock;
    CONTINUE WHEN NOT FOUND;
    -- Somebody who was making it may have been waited for, until it was made and given back.
    v_created := duly.after_lock_f1(duly.now_f1(p_now));
    IF v_created > v_now THEN
      v_now := v_created;
      UPDATE duly.locks SET until_at = v_now + p_ttl_ms WHERE name = p_name RETURNING * INTO v_lock;
    END IF;
    EXIT;
  END LOOP;
  RETURN json_build_object('now', v_now, 'acquired', true, 'fence', v_lock.fence, 'untilAt', v_lock.until_at)::text;
END $$;

-- A lock holds until someone else takes it, so a late renewal that nobody forestalled still counts. \`p_ttl_ms\` null: gives them back.
-- call: keepLocks
CREATE FUNCTION duly.keep_locks_f1(p_now bigint, p_locks jsonb, p_ttl_ms bigint) RETURNS text LANGUAGE plpgsql
SET lock_timeout = '2s'
SET plan_cache_mode = force_generic_plan SET jit = off SET enable_seqscan = off SET enable_bitmapscan = off
SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
  v_now bigint := duly.begin_f1(p_now);
  v_kept boolean[] := '{}';
  v_one jsonb;
BEGIN
  FOR v_one IN SELECT * FROM jsonb_array_elements(p_locks) LOOP
    IF p_ttl_ms IS NULL THEN
      DELETE FROM duly.locks WHERE name = v_one ->> 'name' AND fence = (v_one ->> 'fence')::bigint;
    ELSE
      UPDATE duly.locks SET until_at = v_now + p_ttl_ms WHERE name = v_one ->> 'name' AND fence = (v_one ->> 'fence')::bigint;
    END IF;
    v_kept := v_kept || FOUND;
  END LOOP;
  IF p_ttl_ms IS NULL THEN PERFORM duly.add_notification_f1('l'); END IF;
  RETURN json_build_object('now', v_now, 'notifications', duly.notifications_f1(), 'kept', to_json(v_kept))::text;
END $$;

-- call: nodes
CREATE FUNCTION duly.nodes_f1(p_now bigint, p_heartbeat_id text, p_heartbeat text, p_leave text, p_drain text, p_actor text, p_forget_ms bigint)
RETURNS text LANGUAGE plpgsql
SET lock_timeout = '2s'
SET plan_cache_mode = force_generic_plan SET jit = off SET enable_seqscan = off SET enable_bitmapscan = off
SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
  v_now bigint := duly.begin_f1(p_now);
  v_nodes json;
BEGIN
  IF p_heartbeat_id IS NOT NULL THEN
    INSERT INTO duly.nodes (id, info, heartbeat_at) VALUES (p_heartbeat_id, p_heartbeat, v_now)
    ON CONFLICT (id) DO UPDATE SET info = excluded.info, heartbeat_at = excluded.heartbeat_at;
  END IF;
  IF p_leave IS NOT NULL THEN DELETE FROM duly.nodes WHERE id = p_leave; END IF;
  IF p_drain IS NOT NULL THEN
    UPDATE duly.nodes SET drain_requested_at = coalesce(drain_requested_at, v_now) WHERE id = p_drain;
    IF FOUND THEN PERFORM duly.audit_f1(v_now, p_actor, 'drain', 'node:' || p_drain, NULL, NULL, NULL); END IF;
  END IF;
  -- Whoever only looks does not write.
  IF p_heartbeat_id IS NOT NULL OR p_leave IS NOT NULL OR p_drain IS NOT NULL THEN
    DELETE FROM duly.nodes WHERE ctid = ANY (ARRAY(
      SELECT ctid FROM duly.nodes WHERE heartbeat_at < v_now - p_forget_ms ORDER BY id FOR UPDATE SKIP LOCKED));
  END IF;
  SELECT json_agg(json_build_object('info', info, 'heartbeatAt', heartbeat_at, 'drainRequestedAt', drain_requested_at) ORDER BY id) INTO v_nodes
  FROM duly.nodes WHERE heartbeat_at >= v_now - p_forget_ms;
  RETURN json_build_object('now', v_now, 'nodes', coalesce(v_nodes, '[]'::json))::text;
END $$;

-- Folds ledger rows that are past their time into one for each span; answers how many went.
CREATE FUNCTION duly.fold_slots_f1(p_before bigint, p_starts bigint[], p_limit integer) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
  v_slot duly.slots;
  v_compacted duly.compacted_months;
  v_start bigint;
  v_known boolean;
  v_least bigint;
  v_exact integer;
  v_counts jsonb;
  v_at integer;
  v_count integer := 0;
BEGIN
  FOR v_slot IN
    -- A row that is still lengthened is not old, whenever it was begun.
    SELECT * FROM duly.slots WHERE decided_at < p_before AND last_decided_at < p_before ORDER BY decided_at, schedule_id, generation, from_at
    LIMIT p_limit FOR UPDATE SKIP LOCKED
  LOOP
    v_count := v_count + 1;
    DELETE FROM duly.slots
    WHERE schedule_id = v_slot.schedule_id AND generation = v_slot.generation AND from_at = v_slot.from_at;
    v_known := EXISTS (SELECT 1 FROM duly.schedules WHERE id = v_slot.schedule_id);
    -- Nobody can name it any more once the audit has forgotten it too; what was folded before goes with it.
    IF NOT v_known THEN DELETE FROM duly.compacted_months WHERE schedule_id = v_slot.schedule_id; END IF;
    SELECT max(s) INTO v_start FROM unnest(p_starts) s WHERE s <= v_slot.from_at;
    CONTINUE WHEN NOT v_known OR v_start IS NULL;
    -- What nobody counted has a slot at least at each of its ends.
    v_least := coalesce(v_slot.count, CASE WHEN v_slot.from_at = v_slot.to_at THEN 1 ELSE 2 END);
    v_exact := (v_slot.count IS NOT NULL OR v_slot.from_at = v_slot.to_at)::integer;
    SELECT * INTO v_compacted FROM duly.compacted_months
    WHERE schedule_id = v_slot.schedule_id AND generation = v_slot.generation AND start_at = v_start FOR UPDATE;
    v_counts := coalesce(v_compacted.counts::jsonb, '[]');
    SELECT (i - 1)::integer INTO v_at FROM jsonb_array_elements(v_counts) WITH ORDINALITY AS c (c, i) WHERE c ->> 0 = v_slot.decision;
    IF v_at IS NULL THEN
      v_counts := v_counts || jsonb_build_array(jsonb_build_array(v_slot.decision, v_least, v_exact));
    ELSE
      v_counts := jsonb_set(v_counts, ARRAY[v_at::text], jsonb_build_array(v_slot.decision,
        (v_counts -> v_at ->> 1)::bigint + v_least, least((v_counts -> v_at ->> 2)::integer, v_exact)));
    END IF;
    INSERT INTO duly.compacted_months AS f (schedule_id, generation, start_at, from_at, to_at, counts)
    VALUES (v_slot.schedule_id, v_slot.generation, v_start, v_slot.from_at, v_slot.to_at, v_counts::text)
    ON CONFLICT (schedule_id, generation, start_at) DO UPDATE
    SET from_at = least(f.from_at, excluded.from_at), to_at = greatest(f.to_at, excluded.to_at), counts = excluded.counts;
  END LOOP;
  RETURN v_count;
END $$;

-- Remembers the newest instant at which a job was made that is forgotten now: an id made later was never here.
CREATE FUNCTION duly.note_pruned_f1(p_created_at bigint) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO duly.meta AS m (key, value) VALUES ('pruned_created_at', p_created_at)
  ON CONFLICT (key) DO UPDATE SET value = greatest(m.value, excluded.value);
END $$;

-- call: prune
CREATE FUNCTION duly.prune_f1(p_now bigint, p_limit integer, p_ledger_ms bigint, p_starts jsonb, p_audit_ms bigint, p_changes_ms bigint)
RETURNS text LANGUAGE plpgsql
SET lock_timeout = '2s'
SET plan_cache_mode = force_generic_plan SET jit = off SET enable_seqscan = off SET enable_bitmapscan = off
SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
  v_now bigint := duly.begin_f1(p_now);
  v_ids text[];
  v_created bigint;
  v_jobs integer;
  v_keys integer;
  v_values integer;
  v_rows integer[] := '{}';
  v_n integer;
  v_sum integer := 0;
  v_more boolean;
BEGIN
  -- Day partitions are dropped whole (keep_days); what lies outside of them, and dead letters, go a slice at a time.
  WITH old AS (
    SELECT ctid AS tid, prune_at, true AS dead FROM duly.dead WHERE prune_at <= v_now
    UNION ALL SELECT ctid, prune_at, false FROM duly.finished_other WHERE prune_at <= v_now
    ORDER BY prune_at LIMIT p_limit),
  letters AS (
    DELETE FROM duly.dead d WHERE d.ctid = ANY (ARRAY(SELECT tid FROM old WHERE dead)) AND coalesce(d.prune_at <= v_now, false)
    RETURNING d.id, d.created_at),
  others AS (
    DELETE FROM duly.finished_other f WHERE f.ctid = ANY (ARRAY(SELECT tid FROM old WHERE NOT dead)) AND coalesce(f.prune_at <= v_now, false)
    RETURNING f.id, f.created_at)
  SELECT array_agg(g.id), max(g.created_at) INTO v_ids, v_created FROM (SELECT * FROM letters UNION ALL SELECT * FROM others) g;
  v_jobs := coalesce(cardinality(v_ids), 0);
  IF v_jobs > 0 THEN
    PERFORM duly.note_pruned_f1(v_created);
    PERFORM duly.forget_f1(v_ids);
  END IF;
  DELETE FROM duly.dedupes WHERE ctid = ANY (ARRAY(
    -- Behind a holder that ended and was retried, a follow-up may hold the key by now.
    SELECT ctid FROM duly.dedupes
    WHERE until_at IS NOT NULL AND until_at <= v_now AND ended IS NOT NULL AND follow_id IS NULL
    LIMIT p_limit FOR UPDATE SKIP LOCKED));
  GET DIAGNOSTICS v_keys = ROW_COUNT;
  DELETE FROM duly.expirings WHERE ctid = ANY (ARRAY(
    SELECT ctid FROM duly.expirings WHERE expires_at <= v_now LIMIT p_limit FOR UPDATE SKIP LOCKED));
  GET DIAGNOSTICS v_values = ROW_COUNT;
  DELETE FROM duly.journal WHERE ctid = ANY (ARRAY(
    SELECT ctid FROM duly.journal WHERE until_at IS NOT NULL AND until_at <= v_now LIMIT p_limit FOR UPDATE SKIP LOCKED));
  GET DIAGNOSTICS v_n = ROW_COUNT;
  v_rows := v_rows || v_n;
  v_rows := v_rows || duly.fold_slots_f1(v_now - p_ledger_ms, ARRAY(SELECT s::bigint FROM jsonb_array_elements_text(p_starts) s), p_limit);
  -- Positions and instants grow together, so only the oldest rows are looked at.
  DELETE FROM duly.audit WHERE position <= (
    SELECT max(o.position) FROM (SELECT position, at FROM duly.audit ORDER BY position LIMIT p_limit) o WHERE o.at < v_now - p_audit_ms);
  GET DIAGNOSTICS v_n = ROW_COUNT;
  v_rows := v_rows || v_n;
  v_rows := v_rows || duly.prune_changes_f1(v_now, v_now - p_changes_ms, p_limit);
  -- A lock that ended a day ago tells nobody anything any more; its fence lives on in the store's counter.
  DELETE FROM duly.locks WHERE ctid = ANY (ARRAY(
    SELECT ctid FROM duly.locks WHERE until_at < v_now - 86400000 LIMIT p_limit FOR UPDATE SKIP LOCKED));
  GET DIAGNOSTICS v_n = ROW_COUNT;
  v_rows := v_rows || v_n;
  v_more := v_jobs >= p_limit OR v_keys >= p_limit OR v_values >= p_limit;
  FOREACH v_n IN ARRAY v_rows LOOP
    v_sum := v_sum + v_n;
    v_more := v_more OR v_n >= p_limit;
  END LOOP;
  RETURN json_build_object('now', v_now, 'jobs', v_jobs, 'keys', v_keys, 'values', v_values, 'rows', v_sum, 'more', v_more)::text;
END $$;

-- A clean-up that is no longer wanted. One whose value is gone already runs all the same: at least once.
CREATE FUNCTION duly.drop_cleanup_f1(p_now bigint, p_actor text, p_id text, p_why text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE v_job duly.jobs;
BEGIN
  IF p_id IS NULL THEN RETURN; END IF;
  v_job := duly.job_state_f1(p_id);
  IF v_job.id IS NOT NULL THEN PERFORM duly.cancel_job_f1(p_now, v_job, 'ask', p_actor, 'value ' || p_why); END IF;
END $$;

CREATE FUNCTION duly.put_value_f1(p_now bigint, p_actor text, p_change jsonb) RETURNS json LANGUAGE plpgsql AS $$
DECLARE
  v_op text := p_change ->> 'op';
  v_name text := p_change ->> 'name';
  v_key text := p_change ->> 'key';
  v_row duly.expirings;
  v_there boolean;
  v_known record;
  v_expires bigint := duly.due_of_f1(p_now, nullif(p_change -> 'due', 'null'));
  v_cleanup jsonb := nullif(p_change -> 'cleanup', 'null');
  v_job duly.jobs;
BEGIN
  SELECT * INTO v_row FROM duly.expirings WHERE name = v_name AND key = v_key FOR UPDATE;
  v_there := FOUND AND v_row.expires_at > p_now;
  IF v_op = 'put' THEN
    IF v_cleanup IS NOT NULL THEN
      v_known := duly.find_known_f1(v_cleanup ->> 'id');
      -- A repeat: the value was put, and what happened to it since stands.
      IF v_known.status IS NOT NULL THEN
        PERFORM duly.refuse_type_f1(v_cleanup, v_known.type);
        PERFORM duly.confirm_f1();
        RETURN json_build_object('result', 'changed', 'expiresAt',
          CASE WHEN v_row.cleanup_id = v_cleanup ->> 'id' THEN v_row.expires_at ELSE v_expires END);
      END IF;
    END IF;
    IF v_there THEN PERFORM duly.drop_cleanup_f1(p_now, p_actor, v_row.cleanup_id, 'replaced'); END IF;
    IF v_cleanup IS NOT NULL THEN
      PERFORM duly.create_job_f1(p_now, (v_cleanup - 'inMs') || jsonb_build_object('at', v_expires), false);
    END IF;
    INSERT INTO duly.expirings (name, key, value, expires_at, cleanup_id)
    VALUES (v_name, v_key, p_change ->> 'value', v_expires, v_cleanup ->> 'id')
    ON CONFLICT (name, key) DO UPDATE SET value = excluded.value, expires_at = excluded.expires_at, cleanup_id = excluded.cleanup_id;
    RETURN json_build_object('result', 'changed', 'expiresAt', v_expires);
  END IF;
  IF NOT v_there THEN RETURN json_build_object('result', 'missing', 'expiresAt', NULL); END IF;
  IF v_op = 'delete' THEN
    PERFORM duly.drop_cleanup_f1(p_now, p_actor, v_row.cleanup_id, 'deleted');
    DELETE FROM duly.expirings WHERE name = v_name AND key = v_key;
    PERFORM duly.audit_f1(p_now, p_actor, 'delete', 'value:' || v_name || '/' || v_key, json_build_object('expiresAt', v_row.expires_at), NULL, NULL);
    RETURN json_build_object('result', 'changed', 'expiresAt', NULL);
  END IF;
  UPDATE duly.expirings SET expires_at = v_expires WHERE name = v_name AND key = v_key;
  IF v_row.cleanup_id IS NOT NULL THEN
    v_job := duly.job_state_f1(v_row.cleanup_id);
    IF v_job.id IS NOT NULL AND v_job.status <> 'RUNNING' THEN PERFORM duly.move_due_f1(p_now, v_job, v_expires, 'rescheduled'); END IF;
  END IF;
  PERFORM duly.audit_f1(p_now, p_actor, 'extend', 'value:' || v_name || '/' || v_key, json_build_object('expiresAt', v_row.expires_at),
    json_build_object('expiresAt', v_expires), NULL);
  RETURN json_build_object('result', 'changed', 'expiresAt', v_expires);
END $$;

-- call: putExpiring
CREATE FUNCTION duly.put_expiring_f1(p_now bigint, p_groups jsonb) RETURNS text LANGUAGE plpgsql
SET lock_timeout = '2s'
SET plan_cache_mode = force_generic_plan SET jit = off SET enable_seqscan = off SET enable_bitmapscan = off
SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
  v_now bigint := duly.begin_f1(p_now);
  v_group jsonb;
  v_change jsonb;
  v_items json[];
  v_replies json[] := '{}';
  v_state text;
  v_message text;
  v_hint text;
  v_detail text;
BEGIN
  FOR v_group IN SELECT * FROM jsonb_array_elements(p_groups) LOOP
    BEGIN
      v_items := '{}';
      FOR v_change IN SELECT * FROM jsonb_array_elements(v_group -> 'changes') LOOP
        v_items := v_items || duly.put_value_f1(v_now, v_group ->> 'actor', v_change);
      END LOOP;
      v_replies := v_replies || json_build_object('ok', true, 'items', array_to_json(v_items));
    EXCEPTION WHEN SQLSTATE 'DU001' OR SQLSTATE 'DU002' THEN
      GET STACKED DIAGNOSTICS v_state = RETURNED_SQLSTATE, v_message = MESSAGE_TEXT, v_hint = PG_EXCEPTION_HINT, v_detail = PG_EXCEPTION_DETAIL;
      v_replies := v_replies || duly.refusal_f1(v_state, v_message, v_hint, v_detail);
    END;
  END LOOP;
  RETURN json_build_object('now', v_now, 'notifications', duly.notifications_f1(), 'groups', array_to_json(v_replies))::text;
END $$;

-- Reading jobs. A statement knows the days of history that there were when it was planned, and sees what is there when it begins: between the
-- two a day may have been made, with what waited for it, and then nobody would find a job that is there. What a STABLE function asks is planned
-- after the instant at which its caller began to see, and so it knows every day that it can see anything of.

-- Jobs by id, wherever they are: one that was brought back to life may be in several places.
CREATE FUNCTION duly.found_f1(p_ids text[]) RETURNS SETOF duly.over_f1 LANGUAGE plpgsql STABLE
SET plan_cache_mode = force_generic_plan SET jit = off SET enable_seqscan = off SET enable_bitmapscan = off
SET enable_hashjoin = off SET enable_mergejoin = off AS $$
BEGIN
  RETURN QUERY SELECT l.* FROM (SELECT DISTINCT i.id FROM unnest(p_ids) AS i (id)) i
    CROSS JOIN LATERAL (SELECT * FROM duly.live_f1 WHERE id = i.id OFFSET 0) l
    UNION ALL SELECT * FROM duly.over_f1 WHERE id = ANY (p_ids);
END $$;

-- What a statement that was put together for a filter finds; its values are \`$1\`, and \`$2\` is the least id that is looked at. Where little matches, the
-- planner would rather read a whole table than so many rows along its ids, and the least id would bound nothing.
CREATE FUNCTION duly.selected_f1(p_sql text, p_values text[], p_floor text) RETURNS SETOF duly.over_f1 LANGUAGE plpgsql STABLE
SET jit = off SET enable_seqscan = off AS $$
BEGIN
  RETURN QUERY EXECUTE p_sql USING p_values, p_floor;
END $$;

-- The same, of which only the states are wanted.
CREATE FUNCTION duly.selected_states_f1(p_sql text, p_values text[], p_floor text)
RETURNS TABLE (id text, status text, due_at bigint, fence bigint, updated_at bigint, dead boolean) LANGUAGE plpgsql STABLE
SET jit = off SET enable_seqscan = off AS $$
BEGIN
  RETURN QUERY EXECUTE p_sql USING p_values, p_floor;
END $$;

-- What can be searched of an error: its name and message. One that holds U+0000 is searched as it is written. Letters are made small by the rules of
-- "C", as SQLite does it: by those of a Turkish database an I would not become an i.
CREATE FUNCTION duly.error_text_f1(p_error text) RETURNS text LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
  RETURN lower(((p_error::json ->> 'name') || ': ' || (p_error::json ->> 'message')) COLLATE "C");
EXCEPTION WHEN OTHERS THEN
  RETURN lower(p_error COLLATE "C");
END $$;

-- Whether a JSON text has a value at a path. jsonb compares best, but refuses what JSON allows. In a list #> also takes "-1", "+1" and "01";
-- here a place has one spelling, so that two paths to one value are equal strings. Other steps that hold a digit are names of fields.
CREATE FUNCTION duly.has_value_f1(p_json text, p_path text[], p_value text) RETURNS boolean LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
  v_step integer;
BEGIN
  IF NOT coalesce(p_json::jsonb #> p_path = p_value::jsonb, false) THEN
    RETURN false;
  END IF;
  FOR v_step IN 1 .. cardinality(p_path) LOOP
    IF p_path[v_step] ~ '[0-9]' AND p_path[v_step] !~ '^(0|[1-9][0-9]{0,8})$'
      AND jsonb_typeof(p_json::jsonb #> p_path[:v_step - 1]) = 'array' THEN
      RETURN false;
    END IF;
  END LOOP;
  RETURN true;
EXCEPTION WHEN OTHERS THEN
  BEGIN
    FOR v_step IN 1 .. cardinality(p_path) LOOP
      IF p_path[v_step] ~ '[0-9]' AND p_path[v_step] !~ '^(0|[1-9][0-9]{0,8})$'
        AND json_typeof(p_json::json #> p_path[:v_step - 1]) = 'array' THEN
        RETURN false;
      END IF;
    END LOOP;
    RETURN coalesce((p_json::json #> p_path)::text = p_value, false);
  EXCEPTION WHEN OTHERS THEN
    RETURN false;
  END;
END $$;

-- \`p_ended_by\`: takes over only leases that had ended at this instant; null: all that have ended.
-- call: reap
CREATE FUNCTION duly.reap_f1(p_now bigint, p_lease_ms bigint, p_limit integer, p_ended_by bigint) RETURNS text LANGUAGE plpgsql
SET lock_timeout = '2s'
SET plan_cache_mode = force_generic_plan SET jit = off SET enable_seqscan = off SET enable_bitmapscan = off
SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
  v_now bigint := duly.begin_f1(p_now);
  v_expired integer;
  v_promoted record;
  v_types text[];
  v_rows tid[];
  v_jobs json;
  v_count integer := 0;
  v_next bigint;
BEGIN
  v_expired := duly.expire_overdue_f1(v_now, p_limit);
  WITH RECURSIVE waiting AS (
    (SELECT type FROM duly.jobs WHERE rank IS NULL AND status IN ('SCHEDULED', 'RETRYING') ORDER BY type LIMIT 1)
    UNION ALL
    SELECT n.type FROM waiting w CROSS JOIN LATERAL (
      SELECT j.type FROM duly.jobs j WHERE j.rank IS NULL AND j.status IN ('SCHEDULED', 'RETRYING') AND j.type > w.type
      ORDER BY j.type LIMIT 1) n)
  SELECT array_agg(type) INTO v_types FROM waiting;
  v_promoted := duly.promote_f1(v_now, v_types, p_limit);
  PERFORM pg_advisory_xact_lock_shared(hashtext('duly.reap'));
  -- The narrow table is read whole.
  SELECT array_agg(o.ctid ORDER BY o.until_at, o.seq) INTO v_rows FROM (
    SELECT ctid, until_at, seq FROM duly.leases WHERE until_at <= least(v_now, p_ended_by) ORDER BY until_at, seq LIMIT p_limit FOR UPDATE SKIP LOCKED) o;
  IF v_rows IS NOT NULL THEN
    -- The attempt keeps its node and its beginning: the reaper settles it, it does not run it.
    WITH taken AS (
      UPDATE duly.leases l SET fence = nextval('duly.fence'), token = NULL, until_at = v_now + p_lease_ms
      FROM unnest(v_rows) WITH ORDINALITY AS r (tid, n) WHERE l.ctid = r.tid
      RETURNING l.id, l.fence, l.begun_at, r.n)
    SELECT json_build_object('columns', json_build_object('id', json_agg(j.id), 'type', json_agg(j.type), 'version', json_agg(j.version), 'queue', json_agg(j.queue), 'tenant', json_agg(j.tenant), 'priority', json_agg(j.priority), 'input', json_agg(j.input), 'metadata', json_agg(j.metadata), 'policy', json_agg(j.policy), 'fence', json_agg(j.lease_fence), 'attempt', json_agg(j.attempt), 'spent', json_agg(j.spent), 'maxAttempts', json_agg(j.max_attempts), 'losses', json_agg(j.losses), 'begunLosses', json_agg(j.begun_losses), 'begun', json_agg(j.begun), 'createdAt', json_agg(j.created_at), 'dueAt', json_agg(j.due_at), 'claimedAt', json_agg(j.claimed_at), 'origin', json_agg(j.origin), 'slot', json_agg(j.slot), 'slotDetails', json_agg(j.slot_details), 'parentId', json_agg(j.parent_id), 'parentKey', json_agg(j.parent_key), 'cancelRequestedAt', json_agg(j.cancel_requested_at))), count(*)
    INTO v_jobs, v_count FROM (
      SELECT j.*, t.fence AS lease_fence, t.begun_at IS NOT NULL AS begun FROM taken t JOIN duly.jobs j ON j.id = ANY (ARRAY[t.id])
      ORDER BY t.n) j;
  END IF;
  -- When the next lease or start deadline ends.
  SELECT least((SELECT min(until_at) FROM duly.leases),
    (SELECT expire_at + 1 FROM duly.jobs WHERE expire_at IS NOT NULL AND started_at IS NULL ORDER BY expire_at LIMIT 1)) INTO v_next;
  RETURN json_build_object('now', v_now, 'notifications', duly.notifications_f1(), 'jobs', coalesce(v_jobs, '[]'::json), 'expired', v_expired,
    'promoted', v_promoted.moved, 'more', NOT v_promoted.is_all OR v_expired >= p_limit OR v_count >= p_limit, 'nextAt', v_next)::text;
END $$;

CREATE FUNCTION duly.record_json_f1(r duly.records) RETURNS json LANGUAGE sql AS $$
  SELECT json_build_object('kind', r.kind, 'key', r.key, 'value', r.value, 'version', r.version, 'updatedAt', r.updated_at)
$$;

-- One operation on settings; answers the records it read or wrote, as a list.
CREATE FUNCTION duly.apply_record_op_f1(p_now bigint, p_actor text, p_op jsonb) RETURNS json LANGUAGE plpgsql AS $$
DECLARE
  v_kind text := p_op ->> 'kind';
  v_key text := p_op ->> 'key';
  v_before duly.records;
  v_after duly.records;
  v_list json;
BEGIN
  IF p_op ->> 'op' = 'list' THEN
    SELECT json_agg(duly.record_json_f1(l) ORDER BY l.key) INTO v_list FROM (
      SELECT * FROM duly.records WHERE kind = v_kind AND key > coalesce(p_op ->> 'after', '') ORDER BY key LIMIT (p_op ->> 'limit')::bigint) l;
    RETURN coalesce(v_list, '[]'::json);
  END IF;
  IF p_op ->> 'op' = 'get' THEN
    SELECT * INTO v_before FROM duly.records WHERE kind = v_kind AND key = v_key;
    RETURN CASE WHEN v_before.key IS NULL THEN '[]'::json ELSE json_build_array(duly.record_json_f1(v_before)) END;
  END IF;
  SELECT * INTO v_before FROM duly.records WHERE kind = v_kind AND key = v_key FOR UPDATE;
  IF p_op ? 'expectVersion' AND v_before.version IS DISTINCT FROM (p_op ->> 'expectVersion')::bigint THEN
    PERFORM duly.refuse_f1('records_conflict', format('The %s "%s" is at version %s, not %s.', v_kind, v_key,
      coalesce(v_before.version::text, 'none'), coalesce(p_op ->> 'expectVersion', 'none')),
      'Someone changed it meanwhile. Read it again and repeat the change.', json_build_object('kind', v_kind, 'key', v_key));
  END IF;
  IF p_op ->> 'op' = 'put' THEN
    INSERT INTO duly.records AS r (kind, key, value, version, updated_at) VALUES (v_kind, v_key, p_op ->> 'value', 1, p_now)
    -- Somebody else may have made it since we looked; then only who does not care may write.
    ON CONFLICT (kind, key) DO UPDATE SET value = excluded.value, version = r.version + 1, updated_at = excluded.updated_at
    WHERE NOT p_op ? 'expectVersion' OR r.version IS NOT DISTINCT FROM v_before.version
    RETURNING * INTO v_after;
    IF NOT FOUND THEN
      PERFORM duly.refuse_f1('records_conflict', format('The %s "%s" was created by someone else at the same time.', v_kind, v_key),
        'Read it again and repeat the change.', json_build_object('kind', v_kind, 'key', v_key));
    END IF;
  ELSE
    DELETE FROM duly.records WHERE kind = v_kind AND key = v_key;
  END IF;
  -- The position of a program changes all the time, and nobody decided it. A session changes no work, and any read key may begin one.
  IF v_kind NOT IN ('cursor', 'session') THEN
    PERFORM duly.audit_f1(p_now, p_actor, p_op ->> 'op', 'record:' || v_kind || '/' || v_key, v_before.value::json, v_after.value::json, NULL);
  END IF;
  -- A resumed queue has work again.
  IF v_kind = 'pause' THEN PERFORM duly.add_notification_f1('j'); END IF;
  RETURN CASE WHEN v_after.key IS NULL THEN '[]'::json ELSE json_build_array(duly.record_json_f1(v_after)) END;
END $$;

-- call: records
CREATE FUNCTION duly.records_f1(p_now bigint, p_groups jsonb) RETURNS text LANGUAGE plpgsql
SET lock_timeout = '2s'
SET plan_cache_mode = force_generic_plan SET jit = off SET enable_seqscan = off SET enable_bitmapscan = off
SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
  v_now bigint := duly.begin_f1(p_now);
  v_group jsonb;
  v_op jsonb;
  v_items json[];
  v_replies json[] := '{}';
  v_state text;
  v_message text;
  v_hint text;
  v_detail text;
BEGIN
  FOR v_group IN SELECT * FROM jsonb_array_elements(p_groups) LOOP
    BEGIN
      v_items := '{}';
      FOR v_op IN SELECT * FROM jsonb_array_elements(v_group -> 'ops') LOOP
        v_items := v_items || duly.apply_record_op_f1(v_now, v_group ->> 'actor', v_op);
      END LOOP;
      v_replies := v_replies || json_build_object('ok', true, 'items', array_to_json(v_items));
    EXCEPTION WHEN SQLSTATE 'DU001' OR SQLSTATE 'DU002' THEN
      GET STACKED DIAGNOSTICS v_state = RETURNED_SQLSTATE, v_message = MESSAGE_TEXT, v_hint = PG_EXCEPTION_HINT, v_detail = PG_EXCEPTION_DETAIL;
      v_replies := v_replies || duly.refusal_f1(v_state, v_message, v_hint, v_detail);
    END;
  END LOOP;
  RETURN json_build_object('now', v_now, 'notifications', duly.notifications_f1(), 'groups', array_to_json(v_replies))::text;
END $$;

-- Reads the journal, and writes it if nothing stands there and the guard holds. The guard is shared-locked until the commit: whoever
-- would take the lock or the lease away waits, and then finds the value.
-- call: remember
CREATE FUNCTION duly.remember_f1(p_now bigint, p_scope text, p_key text, p_put jsonb) RETURNS text LANGUAGE plpgsql
SET lock_timeout = '2s'
SET plan_cache_mode = force_generic_plan SET jit = off SET enable_seqscan = off SET enable_bitmapscan = off
SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
  v_now bigint := duly.begin_f1(p_now);
  v_value text;
BEGIN
  SELECT value INTO v_value FROM duly.journal WHERE scope = p_scope AND key = p_key AND (until_at IS NULL OR until_at > v_now);
  IF FOUND THEN RETURN json_build_object('now', v_now, 'value', v_value, 'result', 'present')::text; END IF;
  IF p_put IS NULL THEN RETURN json_build_object('now', v_now, 'value', NULL, 'result', 'absent')::text; END IF;
  IF p_put -> 'guard' ? 'job' THEN
    PERFORM 1 FROM duly.leases WHERE id = p_put -> 'guard' ->> 'job' AND fence = (p_put -> 'guard' ->> 'fence')::bigint FOR SHARE;
  ELSE
    PERFORM 1 FROM duly.locks WHERE name = p_put -> 'guard' ->> 'lock' AND fence = (p_put -> 'guard' ->> 'fence')::bigint FOR SHARE;
  END IF;
  IF NOT FOUND THEN RETURN json_build_object('now', v_now, 'value', NULL, 'result', 'lost')::text; END IF;
  INSERT INTO duly.journal AS j (scope, key, value, until_at)
  VALUES (p_scope, p_key, p_put ->> 'value', v_now + (p_put ->> 'forMs')::bigint)
  ON CONFLICT (scope, key) DO UPDATE SET value = excluded.value, until_at = excluded.until_at WHERE j.until_at <= v_now
  RETURNING value INTO v_value;
  IF FOUND THEN RETURN json_build_object('now', v_now, 'value', v_value, 'result', 'written')::text; END IF;
  SELECT value INTO v_value FROM duly.journal WHERE scope = p_scope AND key = p_key;
  RETURN json_build_object('now', v_now, 'value', v_value, 'result', 'present')::text;
END $$;

-- New log lines are in the feed too, so that whoever follows a job need not ask for them again and again. Their text is not.
-- call: report
CREATE FUNCTION duly.report_f1(p_now bigint, p_reports jsonb, p_log_limit bigint) RETURNS text LANGUAGE plpgsql
SET lock_timeout = '2s'
SET plan_cache_mode = force_generic_plan SET jit = off SET enable_seqscan = off SET enable_bitmapscan = off
SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
  v_now bigint := duly.begin_f1(p_now);
  v_kept boolean[] := '{}';
  v_one jsonb;
  v_progress jsonb;
  v_type text;
  v_attempt integer;
  v_percent double precision;
BEGIN
  FOR v_one IN SELECT * FROM jsonb_array_elements(p_reports) LOOP
    SELECT percent INTO v_percent FROM duly.leases WHERE id = v_one ->> 'id' AND fence = (v_one ->> 'fence')::bigint FOR UPDATE;
    IF NOT FOUND THEN
      v_kept := v_kept || false;
      CONTINUE;
    END IF;
    v_kept := v_kept || true;
    SELECT type, attempt INTO v_type, v_attempt FROM duly.jobs WHERE id = v_one ->> 'id';
    v_progress := nullif(v_one -> 'progress', 'null');
    IF v_progress IS NOT NULL THEN
      -- Progress never goes back within an attempt.
      v_percent := greatest(v_percent, (v_progress ->> 'percent')::double precision);
      UPDATE duly.leases SET percent = v_percent, message = v_progress ->> 'message', step = (v_progress ->> 'step')::double precision,
        step_of = (v_progress ->> 'of')::double precision, reported_at = v_now
      WHERE id = v_one ->> 'id';
      PERFORM duly.changed_f1(v_now, v_one ->> 'id', v_type, 'RUNNING', 'progress', v_percent);
    END IF;
    PERFORM duly.append_logs_f1(v_one ->> 'id', v_attempt, v_one -> 'logs', p_log_limit);
    IF jsonb_array_length(v_one -> 'logs') > 0 THEN
      PERFORM duly.changed_f1(v_now, v_one ->> 'id', v_type, 'RUNNING', 'log', NULL);
    END IF;
  END LOOP;
  RETURN json_build_object('now', v_now, 'notifications', duly.notifications_f1(), 'kept', to_json(v_kept))::text;
END $$;

CREATE FUNCTION duly.reschedule_target_f1(p_now bigint, p_target jsonb, p_due bigint, p_actor text) RETURNS json LANGUAGE plpgsql AS $$
DECLARE
  v_id text := p_target ->> 'id';
  v_job duly.jobs;
  v_status text;
BEGIN
  IF p_target ? 'key' THEN v_id := duly.holder_f1(p_now, p_target ->> 'type', p_target ->> 'tenant', p_target ->> 'key'); END IF;
  IF v_id IS NULL THEN RETURN duly.changed_item_f1(NULL, 'missing', NULL, NULL); END IF;
  v_job := duly.job_state_f1(v_id);
  IF v_job.id IS NULL THEN RETURN duly.not_live_f1(v_id); END IF;
  IF v_job.status = 'RUNNING' THEN RETURN duly.changed_item_f1(v_id, 'refused', v_job.status, v_job.due_at); END IF;
  IF v_job.due_at = p_due THEN RETURN duly.changed_item_f1(v_id, 'unchanged', v_job.status, v_job.due_at); END IF;
  v_status := duly.move_due_f1(p_now, v_job, p_due, 'rescheduled');
  PERFORM duly.audit_job_f1(p_now, p_actor, NULL, 'reschedule', v_job, json_build_object('status', v_status, 'dueAt', p_due));
  RETURN duly.changed_item_f1(v_id, 'changed', v_status, p_due);
END $$;

-- call: reschedule
CREATE FUNCTION duly.reschedule_f1(p_now bigint, p_groups jsonb) RETURNS text LANGUAGE plpgsql
SET lock_timeout = '2s'
SET plan_cache_mode = force_generic_plan SET jit = off SET enable_seqscan = off SET enable_bitmapscan = off
SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
  v_now bigint := duly.begin_f1(p_now);
  v_group jsonb;
  v_target jsonb;
  v_items json[];
  v_replies json[] := '{}';
BEGIN
  PERFORM duly.lock_dependents_f1(ARRAY(
    SELECT t ->> 'id' FROM jsonb_array_elements(p_groups) g CROSS JOIN jsonb_array_elements(g -> 'targets') t WHERE t ? 'id'
    UNION SELECT unnest(ARRAY[d.job_id, d.follow_id])
    FROM jsonb_array_elements(p_groups) g CROSS JOIN jsonb_array_elements(g -> 'targets') t
    JOIN duly.dedupes d ON d.type = ANY (ARRAY[t ->> 'type']) AND d.tenant = coalesce(t ->> 'tenant', '') AND d.key = t ->> 'key'));
  FOR v_group IN SELECT * FROM jsonb_array_elements(p_groups) LOOP
    v_items := '{}';
    FOR v_target IN SELECT * FROM jsonb_array_elements(v_group -> 'targets') LOOP
      v_items := v_items || duly.reschedule_target_f1(v_now, v_target, duly.due_of_f1(v_now, v_group -> 'due'), v_group ->> 'actor');
    END LOOP;
    v_replies := v_replies || json_build_object('ok', true, 'items', array_to_json(v_items));
  END LOOP;
  RETURN json_build_object('now', v_now, 'notifications', duly.notifications_f1(), 'groups', array_to_json(v_replies))::text;
END $$;

-- Brings an ended job back: the same job, attempts numbered on, its policy's attempts granted again.
CREATE FUNCTION duly.retry_job_f1(p_now bigint, p_id text, p_actor text, p_note text) RETURNS json LANGUAGE plpgsql AS $$
DECLARE
  v_job duly.jobs := duly.job_state_f1(p_id);
  v_brief record;
  v_over duly.finished;
  v_last bigint;
  v_attempts text;
  v_status text;
BEGIN
  -- Still waiting or running: also the answer to a repeat of a retry that took effect.
  IF v_job.id IS NOT NULL THEN
    RETURN duly.changed_item_f1(p_id, CASE WHEN v_job.reason = 'retried' THEN 'unchanged' ELSE 'refused' END, v_job.status, v_job.due_at);
  END IF;
  v_brief := duly.find_brief_f1(p_id);
  IF v_brief.status IS NULL THEN RETURN duly.changed_item_f1(p_id, 'missing', NULL, NULL); END IF;
  IF v_brief.status = 'COMPLETED' THEN RETURN duly.changed_item_f1(p_id, 'refused', v_brief.status, v_brief.due_at); END IF;
  v_over := duly.take_history_f1(p_id);
  -- Somebody else was faster.
  IF v_over.id IS NULL THEN RETURN duly.changed_item_f1(p_id, 'unchanged', 'PENDING', p_now); END IF;
  v_attempts := v_over.attempts;
  SELECT coalesce(max((a ->> 'n')::bigint), 0) INTO v_last FROM json_array_elements(v_attempts::json) a;
  IF v_over.attempt > v_last AND v_over.claimed_at IS NOT NULL THEN
    v_attempts := duly.add_attempt_f1(v_attempts, json_build_object('n', v_over.attempt, 'node', coalesce(v_over.node, ''),
      'fence', v_over.fence, 'startedAt', v_over.claimed_at, 'begunAt', v_over.begun_at, 'endedAt', v_over.finished_at,
      'reason', v_over.reason, 'error', v_over.error::json));
  END IF;
  PERFORM duly.insert_jobs_f1(p_now, jsonb_build_object('parentId', v_over.parent_id, 'parentKey', v_over.parent_key, 'scheduleId', v_over.schedule_id, 'slot', v_over.slot, 'id', p_id, 'type', v_over.type, 'version', v_over.version, 'queue', v_over.queue, 'tenant', v_over.tenant, 'priority', v_over.priority, 'input', v_over.input, 'metadata', v_over.metadata, 'policy', v_over.policy, 'origin', v_over.origin, 'rankOffsetMs', v_over.rank_offset, 'serial', v_over.serial, 'copyOf', v_over.copy_of,
    'at', p_now, 'maxAttempts', greatest(v_over.spent, v_over.max_attempts) + (v_over.policy::json ->> 'maxAttempts')::integer,
    'dedupe', jsonb_build_object('key', v_over.dedupe_key), 'slotAt', v_over.slot_at, 'slotAllow', v_over.slot_allow,
    'slotDetails', v_over.slot_details, 'retentionMs', v_over.retention_ms, 'deadRetentionMs', v_over.dead_retention_ms,
    'life', jsonb_build_object('reason', 'retried', 'createdAt', v_over.created_at, 'fence', nextval('duly.fence'), 'node', v_over.node,
      'claimedAt', v_over.claimed_at, 'attempt', v_over.attempt, 'spent', v_over.spent, 'error', v_over.error, 'attempts', v_attempts)));
  SELECT * INTO v_job FROM duly.jobs WHERE id = p_id;
  -- It holds its key again, unless the key is still held.
  IF v_over.dedupe_key IS NOT NULL THEN
    INSERT INTO duly.dedupes (type, tenant, key, job_id, created_at)
    VALUES (v_over.type, coalesce(v_over.tenant, ''), v_over.dedupe_key, p_id, p_now) ON CONFLICT DO NOTHING;
    IF NOT FOUND THEN
      UPDATE duly.dedupes SET job_id = p_id, until_at = NULL, created_at = p_now, ended = NULL, follow_id = NULL, follow_until = NULL
      WHERE type = v_over.type AND tenant = coalesce(v_over.tenant, '') AND key = v_over.dedupe_key
        AND until_at <= p_now AND (follow_id IS NULL OR follow_until <= p_now);
    END IF;
  END IF;
  v_status := duly.enter_f1(p_now, v_job, 'retried');
  PERFORM duly.audit_f1(p_now, p_actor, 'retry', 'job:' || p_id, json_build_object('status', v_over.status),
    json_build_object('status', v_status), p_note);
  RETURN duly.changed_item_f1(p_id, 'changed', v_status, p_now);
END $$;

-- Retries one job. With \`expectFence\`, a job that has another fence was retried since it was read.
CREATE FUNCTION duly.retry_target_f1(p_now bigint, p_target jsonb, p_actor text, p_note text) RETURNS json LANGUAGE plpgsql AS $$
DECLARE
  v_id text := p_target ->> 'id';
  v_expected bigint := (p_target ->> 'expectFence')::bigint;
  v_job duly.jobs;
  v_ended record;
  v_brief record;
BEGIN
  IF v_expected IS NULL THEN RETURN duly.retry_job_f1(p_now, v_id, p_actor, p_note); END IF;
  v_job := duly.job_state_f1(v_id);
  v_ended := duly.ended_state_f1(v_id);
  IF coalesce(v_job.fence, v_ended.fence) = v_expected THEN RETURN duly.retry_job_f1(p_now, v_id, p_actor, p_note); END IF;
  -- Neither was found if a retry at the same time brought it back.
  v_brief := duly.find_brief_f1(v_id);
  RETURN duly.changed_item_f1(v_id, CASE WHEN v_brief.status IS NULL THEN 'missing' ELSE 'unchanged' END, v_brief.status, v_brief.due_at);
END $$;

-- call: retry
CREATE FUNCTION duly.retry_f1(p_now bigint, p_groups jsonb) RETURNS text LANGUAGE plpgsql
SET lock_timeout = '2s'
SET plan_cache_mode = force_generic_plan SET jit = off SET enable_seqscan = off SET enable_bitmapscan = off
SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
  v_now bigint := duly.begin_f1(p_now);
  v_group jsonb;
  v_target jsonb;
  v_items json[];
  v_replies json[] := '{}';
BEGIN
  FOR v_group IN SELECT * FROM jsonb_array_elements(p_groups) LOOP
    v_items := '{}';
    FOR v_target IN SELECT * FROM jsonb_array_elements(v_group -> 'targets') LOOP
      v_items := v_items || duly.retry_target_f1(v_now, v_target, v_group ->> 'actor', v_group ->> 'note');
    END LOOP;
    v_replies := v_replies || json_build_object('ok', true, 'items', array_to_json(v_items));
  END LOOP;
  RETURN json_build_object('now', v_now, 'notifications', duly.notifications_f1(), 'groups', array_to_json(v_replies))::text;
END $$;

-- Recording how attempts ended.

-- Whether an earlier, equal call settled this attempt: its fence ended with this reason, whatever the job did since.
CREATE FUNCTION duly.was_settled_f1(p_id text, p_fence bigint, p_reason text) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
  v_attempts text;
  v_last bigint;
  v_over record;
BEGIN
  SELECT attempts INTO v_attempts FROM duly.jobs WHERE id = p_id;
  IF NOT FOUND THEN
    SELECT h.attempts, h.attempt, h.claimed_at, h.fence, h.reason INTO v_over FROM (
      SELECT attempts, attempt, claimed_at, fence, reason, seq FROM duly.dead WHERE id = p_id
      UNION ALL SELECT attempts, attempt, claimed_at, fence, reason, seq FROM duly.finished WHERE id = p_id) h ORDER BY h.seq DESC LIMIT 1;
    IF NOT FOUND THEN RETURN false; END IF;
    v_attempts := v_over.attempts;
    SELECT coalesce(max((a ->> 'n')::bigint), 0) INTO v_last FROM json_array_elements(v_attempts::json) a;
    IF v_over.attempt > v_last AND v_over.claimed_at IS NOT NULL AND v_over.fence = p_fence AND v_over.reason = p_reason THEN
      RETURN true;
    END IF;
  END IF;
  RETURN EXISTS (SELECT 1 FROM json_array_elements(v_attempts::json) a WHERE (a ->> 'fence')::bigint = p_fence AND a ->> 'reason' = p_reason);
END $$;

CREATE FUNCTION duly.reschedule_attempt_f1(p_now bigint, p_job duly.jobs, p_one jsonb) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  v_to text := p_one ->> 'to';
  v_reason text := p_one ->> 'reason';
  v_started boolean := (p_one ->> 'started')::boolean;
  v_release boolean := v_to = 'PENDING';
  -- A released job keeps its due time, and so its place in the order.
  v_due bigint := coalesce(duly.due_of_f1(p_now, nullif(p_one -> 'due', 'null')), p_job.due_at);
  v_ready boolean := v_release OR (v_to = 'RETRYING' AND v_due <= p_now);
  v_unused boolean := v_release AND NOT v_started;
  v_progress jsonb := nullif(p_one -> 'report' -> 'progress', 'null');
  v_percent double precision := coalesce((v_progress ->> 'percent')::double precision, p_job.percent);
  v_job duly.jobs := p_job;
BEGIN
  UPDATE duly.jobs SET
    status = v_to, reason = v_reason, rank = CASE WHEN v_ready THEN v_due + rank_offset END, due_at = v_due, updated_at = p_now,
    fence = p_job.fence, begun_at = p_job.begun_at,
    solo = coalesce((p_one ->> 'solo')::smallint, solo),
    attempt = CASE WHEN v_unused THEN attempt - 1 ELSE attempt END,
    spent = p_job.spent, losses = p_job.losses, begun_losses = p_job.begun_losses,
    started_at = p_job.started_at, lateness_ms = p_job.lateness_ms,
    percent = v_percent, message = coalesce(v_progress ->> 'message', p_job.message),
    step = coalesce((v_progress ->> 'step')::double precision, p_job.step),
    step_of = coalesce((v_progress ->> 'of')::double precision, p_job.step_of),
    error = coalesce(p_one ->> 'error', error),
    attempts = CASE WHEN v_unused THEN attempts ELSE duly.add_attempt_f1(attempts, json_build_object(
      'n', p_job.attempt, 'node', coalesce(p_job.node, ''), 'fence', p_job.fence, 'startedAt', coalesce(p_job.claimed_at, p_now),
      'begunAt', p_job.begun_at, 'endedAt', p_now, 'reason', v_reason, 'error', (p_one ->> 'error')::json)) END
  WHERE id = p_job.id;
  DELETE FROM duly.leases WHERE id = p_job.id;
  PERFORM duly.changed_f1(p_now, p_job.id, p_job.type, v_to,
    CASE WHEN v_reason IN ('snoozed', 'released', 'lost') THEN v_reason ELSE 'failed' END, v_percent);
  PERFORM duly.add_job_notification_f1(p_job.type);
  IF v_to = 'SCHEDULED' THEN
    -- Put off: it competes for its serial place again when it is due.
    PERFORM duly.leave_serial_f1(p_now, p_job);
    IF v_due <= p_now THEN
      v_job.status := 'SCHEDULED';
      v_job.due_at := v_due;
      PERFORM duly.enter_f1(p_now, v_job, 'due');
    END IF;
  END IF;
END $$;

-- Records what became of one attempt, if its lease still holds.
CREATE FUNCTION duly.settle_f1(p_now bigint, p_one jsonb, p_repeat boolean) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
  v_id text := p_one ->> 'id';
  v_fence bigint := (p_one ->> 'fence')::bigint;
  v_loss text := p_one ->> 'loss';
  v_to text := p_one ->> 'to';
  v_job duly.jobs := duly.job_state_f1(v_id);
BEGIN
  IF v_job.id IS NULL OR v_job.fence <> v_fence OR v_job.status <> 'RUNNING' THEN
    IF NOT p_repeat OR NOT (duly.was_settled_f1(v_id, v_fence, p_one ->> 'reason')
      OR (v_to NOT IN ('COMPLETED', 'FAILED', 'CANCELLED') AND duly.was_settled_f1(v_id, v_fence, 'cancelled'))) THEN RETURN false; END IF;
    PERFORM duly.confirm_f1();
    RETURN true;
  END IF;
  IF p_one ? 'impossible' THEN RETURN false; END IF;
  -- This claim would have been the first start, or the first since a retry, and the handler was not entered: the job has not started.
  IF NOT (p_one ->> 'started')::boolean AND v_to <> 'COMPLETED' AND v_job.started_at = v_job.claimed_at
    AND (v_job.spent = 0 OR v_job.reason = 'retried')
  THEN
    v_job.started_at := NULL;
    v_job.lateness_ms := NULL;
  END IF;
  v_job.spent := v_job.spent + (p_one ->> 'spends')::boolean::integer;
  v_job.losses := v_job.losses + (v_loss <> 'none')::integer;
  v_job.begun_losses := v_job.begun_losses + (v_loss = 'begun')::integer;
  IF jsonb_typeof(p_one -> 'report') = 'object' THEN
    PERFORM duly.append_logs_f1(v_id, v_job.attempt, p_one -> 'report' -> 'logs', 1000);
  END IF;
  IF v_to IN ('COMPLETED', 'FAILED', 'CANCELLED') THEN
    PERFORM duly.finish_f1(p_now, v_job, v_to, p_one ->> 'reason', p_one ->> 'result', p_one ->> 'error',
      nullif(p_one -> 'report' -> 'progress', 'null'), NULL, CASE WHEN v_loss <> 'none' THEN 'lost' END);
  ELSIF v_job.cancel_requested_at IS NOT NULL THEN
    -- What was asked to cancel does not come back, only to be cancelled then: its backoff may be an hour.
    PERFORM duly.finish_f1(p_now, v_job, 'CANCELLED', 'cancelled', NULL, p_one ->> 'error',
      nullif(p_one -> 'report' -> 'progress', 'null'), NULL, CASE WHEN v_loss <> 'none' THEN 'lost' END);
  ELSE
    PERFORM duly.reschedule_attempt_f1(p_now, v_job, p_one);
  END IF;
  RETURN true;
END $$;

-- Ends many jobs that returned: what settle does for each, in a few statements for all. \`p_results\` null: none of them has one.
-- Answers the places of those that were recorded; those with a key or a serial place are left to settle, which locks more.
CREATE FUNCTION duly.settle_returned_f1(p_now bigint, p_ids text[], p_fences bigint[], p_results text[]) RETURNS bigint[] LANGUAGE plpgsql AS $$
DECLARE
  v_done bigint[];
  v_ids text[];
  v_types text[];
  v_followed text[] := '{}';
  v_id text;
  v_job duly.jobs;
BEGIN
  WITH lease AS (
    -- Whoever deletes the lease may end the job; the fence is looked at again after a wait.
    DELETE FROM duly.leases l USING unnest(p_ids, p_fences, p_results) WITH ORDINALITY AS r (id, fence, result, i)
    WHERE l.id = ANY (ARRAY[r.id]) AND l.fence = r.fence AND l.plain
    RETURNING l.id, l.fence, l.begun_at, l.message, l.step, l.step_of, r.i, r.result),
  gone AS (
    DELETE FROM duly.jobs j USING lease l WHERE j.id = ANY (ARRAY[l.id])
    RETURNING j.*, l.fence AS lease_fence, l.begun_at AS lease_begun_at, l.message AS lease_message, l.step AS lease_step,
      l.step_of AS lease_step_of, l.i AS lease_i, l.result AS lease_result),
  over AS (
    INSERT INTO duly.finished (
      seq, id, type, version, queue, tenant, priority, input, metadata, policy, fence, attempt, spent, max_attempts, losses, begun_losses, begun_at, created_at, due_at, claimed_at, origin, slot, parent_id, parent_key, cancel_requested_at, rank_offset, copy_of, schedule_id, started_at, lateness_ms, expire_at, node, attempts, status, reason, updated_at, finished_at, prune_at,
      percent, message, step, step_of, cancelled_by, result,
      slot_at, slot_allow, slot_details, retention_ms, dead_retention_ms)
    SELECT seq,
      id, type, version, queue, tenant, priority, input, metadata, policy, lease_fence, attempt, spent + 1, max_attempts, losses, begun_losses, lease_begun_at, created_at, due_at, claimed_at, origin, slot, parent_id, parent_key, cancel_requested_at, rank_offset, copy_of, schedule_id, started_at, lateness_ms, expire_at, node, attempts,
      'COMPLETED', 'returned', p_now, p_now, p_now + retention_ms,
      100, lease_message, lease_step, lease_step_of, cancelled_by, lease_result,
      slot_at, slot_allow, slot_details, retention_ms, dead_retention_ms
    FROM gone)
  SELECT array_agg(lease_i), array_agg(id), array_agg(type) INTO v_done, v_ids, v_types FROM gone;
  IF v_ids IS NULL THEN RETURN '{}'; END IF;
  INSERT INTO duly.changes (at, n, entries) VALUES (p_now, cardinality(v_ids), json_build_array(v_ids,
    CASE WHEN v_types[1] = ALL (v_types) THEN to_json(v_types[1]) ELSE to_json(v_types) END, 'COMPLETED', 'returned', 100)::text);
  -- Statements of their own: they see who shut a gate for one of them while the rows above were waited for. Most stores have none of
  -- a kind, and to find that out once costs less than to look for every job.
  IF EXISTS (SELECT 1 FROM duly.gates) THEN
    v_followed := v_followed || ARRAY(SELECT ref FROM duly.gates WHERE ref = ANY (v_ids) AND kind <> 'serial');
  END IF;
  IF EXISTS (SELECT 1 FROM duly.schedules WHERE waits_for IS NOT NULL) THEN
    v_followed := v_followed || ARRAY(SELECT waits_for FROM duly.schedules WHERE waits_for = ANY (v_ids));
  END IF;
  IF v_followed <> '{}' THEN
    FOR v_id IN SELECT DISTINCT f FROM unnest(v_followed) f LOOP
      v_job.id := v_id;
      PERFORM duly.set_free_f1(p_now, v_job, 'COMPLETED');
    END LOOP;
  END IF;
  RETURN v_done;
END $$;

-- Records one outcome. A lease that is no longer the caller's fails the whole transaction: what else was done in it must not stay.
-- Serial keys are not locked: others would wait for them until the commit, and so would every other key that shares the lock.
-- call: settleInTransaction
CREATE FUNCTION duly.settle_in_transaction_f1(p_now bigint, p_settle jsonb) RETURNS text LANGUAGE plpgsql
SET plan_cache_mode = force_generic_plan SET jit = off SET enable_seqscan = off SET enable_bitmapscan = off
SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
  v_reply text;
BEGIN
  PERFORM set_config('duly_work.user_transaction', '1', true);
  v_reply := duly.exchange_f1(p_now, NULL, NULL, NULL, NULL, p_settle, NULL, false);
  PERFORM set_config('duly_work.user_transaction', '', true);
  IF json_array_length(v_reply::json -> 'lost') > 0 THEN
    RAISE EXCEPTION USING ERRCODE = 'DU003',
      MESSAGE = format('Job "%s" is no longer held by this attempt, so the transaction that should complete it fails.', p_settle -> 0 ->> 'id'),
      HINT = 'Roll the transaction back and end the handler. The job is, or will be, taken by another worker, unless it is settled already.',
      DETAIL = json_build_object('id', p_settle -> 0 ->> 'id', 'fence', p_settle -> 0 -> 'fence')::text;
  END IF;
  RETURN v_reply;
END $$;

-- Transitions of a job that several verbs share: becoming ready, waiting behind a gate, and ending, with everything that an end
-- releases.
--
-- Lock order, for whoever waits: dedupe rows, serial keys, the lease, the job. A claim and a reap never wait.
-- Every statement of a function sees what was committed before it, so the rule is: take the lock, then look.
--
-- A session plans a statement once and may reuse the plan for days, so no plan may depend on how full a table was when it was made. Three rules:
-- 1. A list that was sent drives the lookup: \`t.id = ANY (ARRAY[list.id])\`, not \`t.id = list.id\`, and it is sorted by its own columns. The planner
--    can turn the first form only into one index lookup for each entry. With the second, if the table was empty, it reads the whole table and
--    searches the list for each row. Of a key of several columns only the first is written like this.
-- 2. A lookup by id hides conditions that a partial index has: \`coalesce(rank IS NULL, false)\`. Otherwise the planner may read that index instead.
-- 3. Rows that were found and locked are changed by \`ctid\`.
-- Every function that a session calls again and again has the planner settings that go with these rules in its header, from
-- \`plan_cache_mode\` to \`enable_mergejoin\`: they leave only index lookups in nested loops, which are right for a table of any size.
-- A test holds all of these functions to it (postgres/plans.test.ts). What reads by a filter is planned at each call and has its own settings.
--
-- The function of a verb that writes has \`lock_timeout\`: a row of another open transaction makes it fail after 2 s with nothing done (55P03).
-- Settings are those of functions and not of the session, because a pooler may stand between, and they end with the call.

-- The name of a serial place: keys are per tenant, and any text may be a key.
CREATE FUNCTION duly.serial_ref_f1(p_tenant text, p_serial text) RETURNS text LANGUAGE sql IMMUTABLE AS $$
  SELECT '[' || coalesce(to_json(p_tenant)::text, 'null') || ',' || to_json(p_serial)::text || ']'
$$;

-- Serial keys share 512 locks: one lock per key would let a single call fill the server's lock table.
CREATE FUNCTION duly.serial_lock_f1(p_ref text) RETURNS integer LANGUAGE sql IMMUTABLE AS $$
  SELECT hashtext(p_ref) & 511
$$;

-- Whether this is a settlement in a transaction of the user's own, which must hold nothing until they commit that others want too.
CREATE FUNCTION duly.in_user_transaction_f1() RETURNS boolean LANGUAGE sql STABLE AS $$
  SELECT coalesce(current_setting('duly_work.user_transaction', true), '') = '1'
$$;

CREATE FUNCTION duly.lock_serial_f1(p_ref text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  IF duly.in_user_transaction_f1() THEN RETURN; END IF;
  PERFORM pg_advisory_xact_lock(hashtext('duly.serial'), duly.serial_lock_f1(p_ref));
END $$;

CREATE FUNCTION duly.try_lock_serial_f1(p_ref text) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
  RETURN pg_try_advisory_xact_lock(hashtext('duly.serial'), duly.serial_lock_f1(p_ref));
END $$;

-- Takes the locks of these serial keys in one order, before any row is locked: two calls with the same keys cannot wait for each other.
CREATE FUNCTION duly.lock_serials_f1(p_refs text[]) RETURNS void LANGUAGE plpgsql AS $$
DECLARE v_lock integer;
BEGIN
  IF duly.in_user_transaction_f1() THEN RETURN; END IF;
  FOR v_lock IN SELECT DISTINCT duly.serial_lock_f1(r) FROM unnest(p_refs) r ORDER BY 1 LOOP
    PERFORM pg_advisory_xact_lock(hashtext('duly.serial'), v_lock);
  END LOOP;
END $$;

-- Locks what the end or the move of these jobs may touch before their rows: their dedupe keys, then the serial keys of them and of those who wait
-- for them.
CREATE FUNCTION duly.lock_dependents_f1(p_ids text[]) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  PERFORM 1 FROM duly.jobs j JOIN duly.dedupes d
    ON d.type = ANY (ARRAY[j.type]) AND d.tenant = coalesce(j.tenant, '') AND d.key = j.dedupe_key
  WHERE j.id = ANY (p_ids) AND j.dedupe_key IS NOT NULL ORDER BY j.type, coalesce(j.tenant, ''), j.dedupe_key FOR UPDATE OF d;
  PERFORM duly.lock_serials_f1(ARRAY(
    SELECT duly.serial_ref_f1(j.tenant, j.serial) FROM duly.jobs j WHERE j.id = ANY (p_ids) AND j.serial IS NOT NULL
    UNION SELECT duly.serial_ref_f1(w.tenant, w.serial) FROM duly.gates g JOIN duly.jobs w ON w.id = ANY (ARRAY[g.job])
    WHERE g.ref = ANY (p_ids) AND g.kind <> 'serial' AND w.serial IS NOT NULL));
END $$;

-- A live job, locked with all that its end would touch, as it stands: while it runs its lease knows better. Null: not live.
CREATE FUNCTION duly.job_state_f1(p_id text) RETURNS duly.jobs LANGUAGE plpgsql AS $$
DECLARE
  v_job duly.jobs;
  v_lease duly.leases;
  v_type text;
  v_tenant text;
  v_key text;
  v_serial text;
BEGIN
  SELECT type, tenant, dedupe_key, serial INTO v_type, v_tenant, v_key, v_serial FROM duly.jobs WHERE id = p_id;
  IF NOT FOUND THEN RETURN NULL; END IF;
  IF v_key IS NOT NULL THEN
    PERFORM 1 FROM duly.dedupes WHERE type = v_type AND tenant = coalesce(v_tenant, '') AND key = v_key FOR UPDATE;
  END IF;
  IF v_serial IS NOT NULL THEN PERFORM duly.lock_serial_f1(duly.serial_ref_f1(v_tenant, v_serial)); END IF;
  SELECT * INTO v_lease FROM duly.leases WHERE id = p_id FOR UPDATE;
  SELECT * INTO v_job FROM duly.jobs WHERE id = p_id FOR UPDATE;
  IF NOT FOUND THEN RETURN NULL; END IF;
  IF v_job.status = 'RUNNING' THEN
    -- Claimed while we waited for its row.
    IF v_lease.id IS NULL THEN SELECT * INTO v_lease FROM duly.leases WHERE id = p_id FOR UPDATE; END IF;
    v_job.fence := v_lease.fence;
    v_job.begun_at := v_lease.begun_at;
    v_job.percent := v_lease.percent;
    v_job.message := v_lease.message;
    v_job.step := v_lease.step;
    v_job.step_of := v_lease.step_of;
  END IF;
  RETURN v_job;
END $$;

-- Puts a live job into a waiting status. Ready: it may be taken.
CREATE FUNCTION duly.place_f1(p_now bigint, p_job duly.jobs, p_status text, p_ready boolean, p_event text)
RETURNS text LANGUAGE plpgsql AS $$
BEGIN
  UPDATE duly.jobs SET
    status = p_status, rank = CASE WHEN p_ready THEN p_job.due_at + rank_offset END,
    expire_at = expire_at + (p_job.due_at - due_at), due_at = p_job.due_at, updated_at = p_now
  WHERE id = p_job.id;
  PERFORM duly.changed_f1(p_now, p_job.id, p_job.type, p_status, p_event, p_job.percent);
  -- Not ready means due later: a sleeping node must learn of an earlier instant as well.
  PERFORM duly.add_job_notification_f1(p_job.type);
  RETURN p_status;
END $$;

CREATE FUNCTION duly.ready_f1(p_now bigint, p_job duly.jobs, p_event text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
  RETURN duly.place_f1(p_now, p_job, CASE WHEN p_job.status = 'RETRYING' THEN 'RETRYING' ELSE 'PENDING' END, true, p_event);
END $$;

-- Puts the due jobs of a serial key that nobody has promoted yet in line, but for one that comes just now. The key is locked.
CREATE FUNCTION duly.queue_serial_f1(p_now bigint, p_tenant text, p_serial text, p_but text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  v_ref text := duly.serial_ref_f1(p_tenant, p_serial);
  v_job duly.jobs;
BEGIN
  FOR v_job IN
    SELECT * FROM duly.jobs
    WHERE serial IS NOT NULL AND status = 'SCHEDULED' AND serial = p_serial AND tenant IS NOT DISTINCT FROM p_tenant
      AND due_at <= p_now AND id <> p_but
    ORDER BY seq FOR NO KEY UPDATE
  LOOP
    INSERT INTO duly.gates (kind, ref, order_at, seq, job) VALUES ('serial', v_ref, v_job.due_at, v_job.seq, v_job.id)
    ON CONFLICT DO NOTHING;
    PERFORM duly.place_f1(p_now, v_job, 'BLOCKED', false, 'gate-shut');
  END LOOP;
END $$;

-- Whether somebody in line for a place was due earlier, or at the same instant and made before.
CREATE FUNCTION duly.has_earlier_f1(p_ref text, p_due bigint, p_seq bigint) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
  RETURN EXISTS (SELECT 1 FROM duly.gates WHERE ref = p_ref AND kind = 'serial' AND (order_at, seq) < (p_due, p_seq));
END $$;

-- Gives a free place to the first in line that is due.
CREATE FUNCTION duly.promote_serial_head_f1(p_now bigint, p_ref text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  v_next text;
  v_job duly.jobs;
BEGIN
  LOOP
    SELECT job INTO v_next FROM duly.gates WHERE ref = p_ref AND kind = 'serial' ORDER BY order_at, seq LIMIT 1;
    IF NOT FOUND THEN RETURN; END IF;
    DELETE FROM duly.gates WHERE ref = p_ref AND kind = 'serial' AND job = v_next;
    SELECT * INTO v_job FROM duly.jobs WHERE id = v_next FOR NO KEY UPDATE;
    IF NOT FOUND THEN CONTINUE; END IF;
    IF v_job.due_at <= p_now THEN
      INSERT INTO duly.places (kind, ref, job) VALUES ('serial', p_ref, v_next);
      PERFORM duly.ready_f1(p_now, v_job, 'gate-open');
      RETURN;
    END IF;
    -- It was moved to later while it stood in line; the place is for whoever is due.
    PERFORM duly.place_f1(p_now, v_job, 'SCHEDULED', false, 'gate-open');
  END LOOP;
END $$;

-- A due job whose other gates are open: takes its serial place if it has one, and is ready; or waits for the place.
CREATE FUNCTION duly.enter_f1(p_now bigint, p_job duly.jobs, p_event text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  v_ref text;
  v_holder text;
BEGIN
  IF p_job.serial IS NULL OR p_job.status = 'RETRYING' THEN RETURN duly.ready_f1(p_now, p_job, p_event); END IF;
  -- Without its lock nobody may take a place: who claims next puts it where it belongs.
  IF duly.in_user_transaction_f1() THEN RETURN duly.place_f1(p_now, p_job, 'SCHEDULED', false, p_event); END IF;
  v_ref := duly.serial_ref_f1(p_job.tenant, p_job.serial);
  PERFORM duly.lock_serial_f1(v_ref);
  SELECT job INTO v_holder FROM duly.places WHERE kind = 'serial' AND ref = v_ref;
  IF v_holder = p_job.id THEN RETURN duly.ready_f1(p_now, p_job, p_event); END IF;
  PERFORM duly.queue_serial_f1(p_now, p_job.tenant, p_job.serial, p_job.id);
  IF v_holder IS NULL AND NOT duly.has_earlier_f1(v_ref, p_job.due_at, p_job.seq) THEN
    INSERT INTO duly.places (kind, ref, job) VALUES ('serial', v_ref, p_job.id);
    RETURN duly.ready_f1(p_now, p_job, p_event);
  END IF;
  INSERT INTO duly.gates (kind, ref, order_at, seq, job) VALUES ('serial', v_ref, p_job.due_at, p_job.seq, p_job.id)
  ON CONFLICT DO NOTHING;
  PERFORM duly.place_f1(p_now, p_job, 'BLOCKED', false, CASE p_event WHEN 'retried' THEN p_event ELSE 'gate-shut' END);
  IF v_holder IS NULL THEN PERFORM duly.promote_serial_head_f1(p_now, v_ref); END IF;
  RETURN 'BLOCKED';
END $$;

-- Gives a serial place up, and to the next in line.
CREATE FUNCTION duly.leave_serial_f1(p_now bigint, p_job duly.jobs) RETURNS void LANGUAGE plpgsql AS $$
DECLARE v_ref text;
BEGIN
  IF p_job.serial IS NULL THEN RETURN; END IF;
  v_ref := duly.serial_ref_f1(p_job.tenant, p_job.serial);
  IF duly.in_user_transaction_f1() THEN
    -- Noted, and given to the next by whoever claims after the commit. The next may have any type.
    INSERT INTO duly.left_places (tenant, serial, job) VALUES (p_job.tenant, p_job.serial, p_job.id);
    PERFORM duly.add_notification_f1('j');
    RETURN;
  END IF;
  PERFORM duly.lock_serial_f1(v_ref);
  DELETE FROM duly.places WHERE kind = 'serial' AND ref = v_ref AND job = p_job.id;
  IF NOT FOUND THEN RETURN; END IF;
  PERFORM duly.queue_serial_f1(p_now, p_job.tenant, p_job.serial, p_job.id);
  PERFORM duly.promote_serial_head_f1(p_now, v_ref);
END $$;

-- Gives the serial places that were left in users' transactions to the next in line. Passes over what others hold, so it never waits.
CREATE FUNCTION duly.tidy_places_f1(p_now bigint) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  v_left duly.left_places;
  v_ref text;
BEGIN
  FOR v_left IN SELECT * FROM duly.left_places ORDER BY n LIMIT 1000 FOR UPDATE SKIP LOCKED LOOP
    v_ref := duly.serial_ref_f1(v_left.tenant, v_left.serial);
    CONTINUE WHEN NOT duly.try_lock_serial_f1(v_ref);
    DELETE FROM duly.left_places WHERE n = v_left.n;
    -- One that was put off or came back may have taken its own place again.
    CONTINUE WHEN EXISTS (SELECT 1 FROM duly.jobs WHERE id = v_left.job AND status IN ('PENDING', 'RUNNING', 'RETRYING'));
    DELETE FROM duly.places WHERE kind = 'serial' AND ref = v_ref AND job = v_left.job;
    CONTINUE WHEN NOT FOUND;
    PERFORM duly.queue_serial_f1(p_now, v_left.tenant, v_left.serial, '');
    PERFORM duly.promote_serial_head_f1(p_now, v_ref);
  END LOOP;
END $$;

-- One of a job's gates has opened. The row is locked before the others are looked at: of two that open at once, the second sees the first.
CREATE FUNCTION duly.gate_opened_f1(p_now bigint, p_id text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE v_job duly.jobs;
BEGIN
  SELECT * INTO v_job FROM duly.jobs WHERE id = p_id;
  IF NOT FOUND THEN RETURN; END IF;
  IF v_job.serial IS NOT NULL THEN PERFORM duly.lock_serial_f1(duly.serial_ref_f1(v_job.tenant, v_job.serial)); END IF;
  SELECT * INTO v_job FROM duly.jobs WHERE id = p_id FOR NO KEY UPDATE;
  IF NOT FOUND OR v_job.status <> 'BLOCKED' THEN RETURN; END IF;
  IF EXISTS (SELECT 1 FROM duly.gates WHERE job = p_id) THEN RETURN; END IF;
  IF v_job.due_at > p_now THEN PERFORM duly.place_f1(p_now, v_job, 'SCHEDULED', false, 'gate-open');
  ELSE PERFORM duly.enter_f1(p_now, v_job, 'gate-open');
  END IF;
END $$;

-- A dedupe key after its holder's end: to the follow-up, kept for its time, or free.
CREATE FUNCTION duly.transfer_dedupe_key_f1(p_now bigint, p_job duly.jobs, p_status text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  v_tenant text := coalesce(p_job.tenant, '');
  v_held duly.dedupes;
BEGIN
  SELECT * INTO v_held FROM duly.dedupes
  WHERE type = p_job.type AND tenant = v_tenant AND key = p_job.dedupe_key FOR UPDATE;
  IF NOT FOUND THEN RETURN; END IF;
  IF v_held.follow_id = p_job.id THEN
    UPDATE duly.dedupes SET follow_id = NULL, follow_until = NULL
    WHERE type = p_job.type AND tenant = v_tenant AND key = p_job.dedupe_key;
  ELSIF v_held.job_id = p_job.id THEN
    IF v_held.follow_id IS NOT NULL THEN
      UPDATE duly.dedupes
      SET job_id = follow_id, until_at = follow_until, created_at = p_now, ended = NULL, follow_id = NULL, follow_until = NULL
      WHERE type = p_job.type AND tenant = v_tenant AND key = p_job.dedupe_key;
    ELSIF v_held.until_at IS NULL OR p_status = 'deleted' THEN
      DELETE FROM duly.dedupes WHERE type = p_job.type AND tenant = v_tenant AND key = p_job.dedupe_key;
    ELSE
      UPDATE duly.dedupes SET ended = p_status WHERE type = p_job.type AND tenant = v_tenant AND key = p_job.dedupe_key;
    END IF;
  END IF;
END $$;

-- Opens what waited for a job that is over, or gone. Its row was deleted by an earlier statement, so whoever shut a gate for it while
-- that one waited is seen here.
CREATE FUNCTION duly.set_free_f1(p_now bigint, p_job duly.jobs, p_status text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  v_opened text[];
  v_one text;
BEGIN
  IF p_job.status = 'BLOCKED' THEN DELETE FROM duly.gates WHERE job = p_job.id; END IF;
  IF p_job.dedupe_key IS NOT NULL THEN PERFORM duly.transfer_dedupe_key_f1(p_now, p_job, p_status); END IF;
  WITH gone AS (DELETE FROM duly.gates WHERE ref = p_job.id AND kind <> 'serial' RETURNING job, kind, order_at, seq)
  SELECT array_agg(job ORDER BY kind, order_at, seq) INTO v_opened FROM gone;
  FOREACH v_one IN ARRAY coalesce(v_opened, '{}') LOOP
    PERFORM duly.gate_opened_f1(p_now, v_one);
  END LOOP;
  PERFORM duly.leave_serial_f1(p_now, p_job);
  UPDATE duly.schedules SET due_at = p_now WHERE waits_for = p_job.id AND (due_at IS NULL OR due_at > p_now);
  IF FOUND THEN PERFORM duly.add_notification_f1('s'); END IF;
END $$;

-- Ends a live job: moves it to history and sets free everything that waited for it. \`p_job\` is what job_state returned.
CREATE FUNCTION duly.finish_f1(
  p_now bigint, p_job duly.jobs, p_status text, p_reason text,
  p_result text DEFAULT NULL, p_error text DEFAULT NULL, p_progress jsonb DEFAULT NULL,
  p_cancelled_by text DEFAULT NULL, p_event text DEFAULT NULL
) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  v_completed boolean := p_status = 'COMPLETED';
  v_over duly.finished;
BEGIN
  v_over.id := p_job.id; v_over.type := p_job.type; v_over.version := p_job.version; v_over.queue := p_job.queue; v_over.tenant := p_job.tenant; v_over.priority := p_job.priority; v_over.input := p_job.input; v_over.metadata := p_job.metadata; v_over.policy := p_job.policy; v_over.fence := p_job.fence; v_over.attempt := p_job.attempt; v_over.spent := p_job.spent; v_over.max_attempts := p_job.max_attempts; v_over.losses := p_job.losses; v_over.begun_losses := p_job.begun_losses; v_over.begun_at := p_job.begun_at; v_over.created_at := p_job.created_at; v_over.due_at := p_job.due_at; v_over.claimed_at := p_job.claimed_at; v_over.origin := p_job.origin; v_over.slot := p_job.slot; v_over.parent_id := p_job.parent_id; v_over.parent_key := p_job.parent_key; v_over.cancel_requested_at := p_job.cancel_requested_at; v_over.rank_offset := p_job.rank_offset; v_over.serial := p_job.serial; v_over.copy_of := p_job.copy_of; v_over.dedupe_key := p_job.dedupe_key; v_over.schedule_id := p_job.schedule_id; v_over.started_at := p_job.started_at; v_over.lateness_ms := p_job.lateness_ms; v_over.expire_at := p_job.expire_at; v_over.node := p_job.node; v_over.attempts := p_job.attempts;
  v_over.seq := p_job.seq;
  v_over.slot_at := p_job.slot_at;
  v_over.slot_allow := p_job.slot_allow;
  v_over.slot_details := p_job.slot_details;
  v_over.retention_ms := p_job.retention_ms;
  v_over.dead_retention_ms := p_job.dead_retention_ms;
  v_over.status := p_status;
  v_over.reason := p_reason;
  v_over.updated_at := p_now;
  v_over.finished_at := p_now;
  v_over.prune_at := p_now + CASE WHEN p_status = 'FAILED' THEN p_job.dead_retention_ms ELSE p_job.retention_ms END;
  v_over.percent := CASE WHEN v_completed THEN 100 ELSE coalesce((p_progress ->> 'percent')::double precision, p_job.percent) END;
  v_over.message := coalesce(p_progress ->> 'message', p_job.message);
  v_over.step := coalesce((p_progress ->> 'step')::double precision, p_job.step);
  v_over.step_of := coalesce((p_progress ->> 'of')::double precision, p_job.step_of);
  v_over.cancelled_by := coalesce(p_cancelled_by, p_job.cancelled_by);
  v_over.error := CASE WHEN NOT v_completed THEN coalesce(p_error, p_job.error) END;
  v_over.result := p_result;
  -- The last attempt of a job is read from the job's own columns. One that ends by a cancel is listed where the job has the error of an
  -- earlier attempt, because the columns hold one error.
  IF p_status = 'CANCELLED' AND p_job.status = 'RUNNING' AND p_job.error IS NOT NULL AND p_job.claimed_at IS NOT NULL THEN
    v_over.attempts := duly.add_attempt_f1(p_job.attempts, json_build_object('n', p_job.attempt, 'node', coalesce(p_job.node, ''),
      'fence', p_job.fence, 'startedAt', p_job.claimed_at, 'begunAt', p_job.begun_at, 'endedAt', p_now, 'reason', p_reason,
      'error', p_error::json));
  END IF;
  IF p_status = 'FAILED' THEN
    -- An id that was made a second time after its first life ended must not jam its worker.
    DELETE FROM duly.dead WHERE id = p_job.id;
    INSERT INTO duly.dead SELECT v_over.*;
  ELSE
    INSERT INTO duly.finished SELECT v_over.*;
  END IF;
  DELETE FROM duly.jobs WHERE id = p_job.id;
  IF p_job.status = 'RUNNING' THEN DELETE FROM duly.leases WHERE id = p_job.id; END IF;
  PERFORM duly.changed_f1(p_now, p_job.id, p_job.type, p_status, coalesce(p_event, CASE p_status
    WHEN 'COMPLETED' THEN 'returned' WHEN 'FAILED' THEN 'failed' WHEN 'CANCELLED' THEN 'cancelled' ELSE 'expired' END),
    v_over.percent);
  PERFORM duly.set_free_f1(p_now, p_job, p_status);
END $$;

-- Moves due jobs of these types, so many of each, to where a claim finds them. Passes over what others hold, so it never waits.
CREATE FUNCTION duly.promote_f1(
  p_now bigint, p_types text[], p_limit integer, OUT moved integer, OUT is_all boolean, p_from bigint DEFAULT -9223372036854775808)
LANGUAGE plpgsql AS $$
DECLARE
  v_ids text[];
  v_id text;
  v_serials integer;
  v_job duly.jobs;
  v_notifications text;
BEGIN
  IF EXISTS (SELECT 1 FROM duly.left_places) THEN PERFORM duly.tidy_places_f1(p_now); END IF;
  v_notifications := duly.notifications_f1();
  SELECT array_agg(w.id ORDER BY w.due_at, w.seq), count(*), coalesce(bool_and(w.n < p_limit), true),
    count(*) FILTER (WHERE w.serial IS NOT NULL AND w.status = 'SCHEDULED')
  INTO v_ids, moved, is_all, v_serials
  FROM unnest(p_types) AS t (type) CROSS JOIN LATERAL (
    SELECT d.*, count(*) OVER () AS n FROM (
      SELECT j.id, j.due_at, j.seq, j.serial, j.status FROM duly.jobs j
      WHERE j.rank IS NULL AND j.status IN ('SCHEDULED', 'RETRYING') AND j.type = t.type AND j.due_at <= p_now
        AND j.due_at >= p_from
      ORDER BY j.due_at, j.seq LIMIT p_limit) d) w;
  IF moved = 0 THEN RETURN; END IF;
  IF v_serials = 0 THEN
    WITH due AS (
      SELECT ctid AS tid FROM duly.jobs
      WHERE id = ANY (v_ids) AND coalesce(rank IS NULL AND status IN ('SCHEDULED', 'RETRYING') AND due_at <= p_now, false)
      FOR UPDATE SKIP LOCKED),
    ready AS (
      UPDATE duly.jobs j SET
        status = CASE j.status WHEN 'RETRYING' THEN 'RETRYING' ELSE 'PENDING' END, rank = j.due_at + j.rank_offset, updated_at = p_now
      FROM due WHERE j.ctid = due.tid
      RETURNING j.id, j.type, j.status, j.percent, j.due_at, j.seq)
    INSERT INTO duly.changes (at, n, entries)
    SELECT p_now, count(*), json_build_array(json_agg(id), json_agg(type), json_agg(status), 'due', json_agg(percent))::text
    FROM (SELECT * FROM ready ORDER BY due_at, seq) r HAVING count(*) > 0;
    RETURN;
  END IF;
  FOREACH v_id IN ARRAY v_ids LOOP
    SELECT * INTO v_job FROM duly.jobs WHERE id = v_id;
    IF v_job.serial IS NOT NULL AND NOT duly.try_lock_serial_f1(duly.serial_ref_f1(v_job.tenant, v_job.serial)) THEN
      is_all := false;
      CONTINUE;
    END IF;
    -- An earlier one of this list may have put it in line, or seated it, with the others of its serial key.
    SELECT * INTO v_job FROM duly.jobs
    WHERE id = v_id AND coalesce(rank IS NULL AND status IN ('SCHEDULED', 'RETRYING') AND due_at <= p_now, false) FOR UPDATE SKIP LOCKED;
    IF FOUND THEN PERFORM duly.enter_f1(p_now, v_job, 'due'); END IF;
  END LOOP;
  -- Every node knows the next due instant and wakes by itself: no notification for what was to be expected.
  PERFORM set_config('duly_work.notifications', v_notifications, true);
END $$;

-- Ends jobs whose start deadline has passed before their first start. Passes over what others hold, so it never waits.
CREATE FUNCTION duly.expire_overdue_f1(p_now bigint, p_limit integer) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
  v_ids text[];
  v_id text;
  v_job duly.jobs;
BEGIN
  SELECT array_agg(d.id) INTO v_ids FROM (
    SELECT id FROM duly.jobs WHERE expire_at IS NOT NULL AND started_at IS NULL AND expire_at < p_now
    ORDER BY expire_at, seq LIMIT p_limit) d;
  FOREACH v_id IN ARRAY coalesce(v_ids, '{}') LOOP
    SELECT * INTO v_job FROM duly.jobs WHERE id = v_id;
    CONTINUE WHEN NOT FOUND;
    IF v_job.dedupe_key IS NOT NULL THEN
      PERFORM 1 FROM duly.dedupes
      WHERE type = v_job.type AND tenant = coalesce(v_job.tenant, '') AND key = v_job.dedupe_key FOR UPDATE SKIP LOCKED;
      CONTINUE WHEN NOT FOUND AND EXISTS (SELECT 1 FROM duly.dedupes
        WHERE type = v_job.type AND tenant = coalesce(v_job.tenant, '') AND key = v_job.dedupe_key);
    END IF;
    CONTINUE WHEN v_job.serial IS NOT NULL AND NOT duly.try_lock_serial_f1(duly.serial_ref_f1(v_job.tenant, v_job.serial));
    -- Those who wait for it will want their serial places.
    CONTINUE WHEN EXISTS (
      SELECT 1 FROM duly.gates g JOIN duly.jobs w ON w.id = ANY (ARRAY[g.job])
      WHERE g.ref = v_id AND g.kind <> 'serial' AND w.serial IS NOT NULL
        AND NOT duly.try_lock_serial_f1(duly.serial_ref_f1(w.tenant, w.serial)));
    -- The end of an earlier one in this very list may have opened or ended it.
    SELECT * INTO v_job FROM duly.jobs
    WHERE id = v_id AND coalesce(expire_at < p_now AND started_at IS NULL, false) FOR UPDATE SKIP LOCKED;
    CONTINUE WHEN NOT FOUND;
    PERFORM duly.finish_f1(p_now, v_job, 'EXPIRED', 'start-deadline');
  END LOOP;
  RETURN coalesce(cardinality(v_ids), 0);
END $$;

-- Where a job stands, live or over: status and due instant. Nothing: not there.
CREATE FUNCTION duly.find_brief_f1(p_id text, OUT type text, OUT status text, OUT due_at bigint) LANGUAGE plpgsql AS $$
BEGIN
  SELECT j.type, j.status, j.due_at INTO type, status, due_at FROM duly.jobs j WHERE j.id = p_id;
  IF FOUND THEN RETURN; END IF;
  SELECT j.type, j.status, j.due_at INTO type, status, due_at FROM duly.dead j WHERE j.id = p_id;
  IF FOUND THEN RETURN; END IF;
  SELECT j.type, j.status, j.due_at INTO type, status, due_at FROM duly.finished j WHERE j.id = p_id ORDER BY j.seq DESC LIMIT 1;
END $$;

-- Moves a waiting job to another instant; answers its status afterwards. \`p_job\` is what job_state returned.
CREATE FUNCTION duly.move_due_f1(p_now bigint, p_job duly.jobs, p_due bigint, p_event text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE v_moved duly.jobs := p_job;
BEGIN
  v_moved.due_at := p_due;
  IF p_job.status = 'BLOCKED' THEN
    IF p_job.serial IS NOT NULL THEN UPDATE duly.gates SET order_at = p_due WHERE job = p_job.id AND kind = 'serial'; END IF;
    RETURN duly.place_f1(p_now, v_moved, 'BLOCKED', false, p_event);
  END IF;
  IF p_job.status = 'RETRYING' THEN RETURN duly.place_f1(p_now, v_moved, 'RETRYING', p_due <= p_now, p_event); END IF;
  IF p_due <= p_now THEN RETURN duly.enter_f1(p_now, v_moved, p_event); END IF;
  -- Until it is due again it does not compete for its serial place.
  PERFORM duly.leave_serial_f1(p_now, p_job);
  RETURN duly.place_f1(p_now, v_moved, 'SCHEDULED', false, p_event);
END $$;

-- Adds one attempt to a JSON list of them and keeps the newest 50: a job that is put off for years must not grow without bound.
CREATE FUNCTION duly.add_attempt_f1(p_attempts text, p_entry json) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  v_all text := CASE WHEN p_attempts = '[]' THEN '[' || p_entry::text || ']' ELSE left(p_attempts, -1) || ',' || p_entry::text || ']' END;
  v_count integer := json_array_length(v_all::json);
BEGIN
  IF v_count <= 50 THEN RETURN v_all; END IF;
  RETURN (SELECT '[' || string_agg(e::text, ',' ORDER BY i) || ']'
    FROM json_array_elements(v_all::json) WITH ORDINALITY AS a (e, i) WHERE i > v_count - 50);
END $$;

CREATE FUNCTION duly.append_logs_f1(p_id text, p_attempt integer, p_lines jsonb, p_limit bigint) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  v_n bigint;
  v_line jsonb;
BEGIN
  IF jsonb_array_length(p_lines) = 0 THEN RETURN; END IF;
  SELECT coalesce(max(n), 0) INTO v_n FROM duly.logs WHERE job_id = p_id;
  FOR v_line IN
    SELECT l FROM jsonb_array_elements(p_lines) WITH ORDINALITY AS e (l, i)
    WHERE i > jsonb_array_length(p_lines) - p_limit ORDER BY i
  LOOP
    INSERT INTO duly.logs (job_id, n, attempt, line, at, level, message)
    VALUES (p_id, v_n + 1, p_attempt, (v_line ->> 'line')::bigint, (v_line ->> 'at')::bigint, v_line ->> 'level', v_line ->> 'message')
    ON CONFLICT DO NOTHING;
    IF FOUND THEN v_n := v_n + 1; END IF;
  END LOOP;
  IF v_n > p_limit THEN DELETE FROM duly.logs WHERE job_id = p_id AND n <= v_n - p_limit; END IF;
END $$;

CREATE FUNCTION duly.changed_item_f1(p_id text, p_result text, p_status text, p_due bigint) RETURNS json LANGUAGE sql AS $$
  SELECT json_build_object('id', p_id, 'result', p_result, 'status', p_status, 'dueAt', p_due)
$$;

CREATE FUNCTION duly.audit_job_f1(p_now bigint, p_actor text, p_note text, p_action text, p_job duly.jobs, p_after json)
RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  PERFORM duly.audit_f1(p_now, p_actor, p_action, 'job:' || p_job.id,
    json_build_object('status', p_job.status, 'dueAt', p_job.due_at), p_after, p_note);
END $$;

-- The id of the job that holds a dedupe key at this instant. Once its holder's time is over, the follow-up behind that one does.
CREATE FUNCTION duly.holder_f1(p_now bigint, p_type text, p_tenant text, p_key text) RETURNS text LANGUAGE sql STABLE AS $$
  SELECT CASE WHEN until_at <= p_now THEN follow_id ELSE job_id END FROM duly.dedupes
  WHERE type = p_type AND tenant = coalesce(p_tenant, '') AND key = p_key
    AND (until_at IS NULL OR until_at > p_now OR (follow_id IS NOT NULL AND (follow_until IS NULL OR follow_until > p_now)))
$$;

-- Cancels one live job. \`p_job\` is what job_state returned.
CREATE FUNCTION duly.cancel_job_f1(p_now bigint, p_job duly.jobs, p_mode text, p_actor text, p_note text) RETURNS json LANGUAGE plpgsql AS $$
DECLARE v_job duly.jobs := p_job;
BEGIN
  IF p_job.status = 'RUNNING' AND p_mode = 'ask' THEN
    IF p_job.cancel_requested_at IS NOT NULL THEN RETURN duly.changed_item_f1(p_job.id, 'unchanged', p_job.status, p_job.due_at); END IF;
    UPDATE duly.jobs SET cancel_requested_at = p_now, cancelled_by = coalesce(cancelled_by, p_actor), updated_at = p_now WHERE id = p_job.id;
    UPDATE duly.leases SET cancel_at = p_now WHERE id = p_job.id;
    PERFORM duly.audit_job_f1(p_now, p_actor, p_note, 'cancel', p_job,
      json_build_object('status', p_job.status, 'cancelRequestedAt', p_now));
    PERFORM duly.changed_f1(p_now, p_job.id, p_job.type, p_job.status, 'cancel-asked', p_job.percent);
    PERFORM duly.add_notification_f1('c');
    RETURN duly.changed_item_f1(p_job.id, 'asked', p_job.status, p_job.due_at);
  END IF;
  PERFORM duly.audit_job_f1(p_now, p_actor, p_note, CASE p_mode WHEN 'ask' THEN 'cancel' ELSE 'terminate' END, p_job,
    json_build_object('status', 'CANCELLED'));
  -- A running attempt must not be able to settle any more.
  IF p_job.status = 'RUNNING' THEN v_job.fence := nextval('duly.fence'); END IF;
  PERFORM duly.finish_f1(p_now, v_job, 'CANCELLED', 'cancelled', p_cancelled_by => p_actor);
  IF p_job.status = 'RUNNING' THEN PERFORM duly.add_notification_f1('c'); END IF;
  RETURN duly.changed_item_f1(p_job.id, 'changed', 'CANCELLED', p_job.due_at);
END $$;

-- What there is to say of a target that is not live: over, or missing.
CREATE FUNCTION duly.not_live_f1(p_id text) RETURNS json LANGUAGE plpgsql AS $$
DECLARE v_brief record := duly.find_brief_f1(p_id);
BEGIN
  IF v_brief.status IS NULL THEN RETURN duly.changed_item_f1(p_id, 'missing', NULL, NULL); END IF;
  RETURN duly.changed_item_f1(p_id, 'refused', v_brief.status, v_brief.due_at);
END $$;

-- A history row, taken out of where it is. Of two who want it one gets it. Null: not there.
CREATE FUNCTION duly.take_history_f1(p_id text) RETURNS duly.finished LANGUAGE plpgsql AS $$
DECLARE v_over duly.finished;
BEGIN
  DELETE FROM duly.dead WHERE id = p_id RETURNING * INTO v_over;
  IF FOUND THEN RETURN v_over; END IF;
  DELETE FROM duly.finished WHERE id = p_id RETURNING * INTO v_over;
  RETURN v_over;
END $$;

-- Removes what is kept beside jobs.
CREATE FUNCTION duly.forget_f1(p_ids text[]) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  DELETE FROM duly.logs WHERE job_id = ANY (p_ids);
  DELETE FROM duly.children WHERE parent_id = ANY (p_ids);
  DELETE FROM duly.journal WHERE scope = ANY (ARRAY(SELECT 'job:' || i FROM unnest(p_ids) i));
END $$;

-- Plays what a node does most, so that the session that plays it has planned it: the first call of a function plans its statements, 4 to 20 ms for
-- each of these. Whoever calls this rolls back. It plays at instant 0, at which nothing of anybody's is due, overdue or ended, and what it makes
-- nobody sees: so it waits for nobody, and nobody for it. Only the settlement is of today, because history is kept by days.
CREATE FUNCTION duly.warm_up_f1() RETURNS void LANGUAGE plpgsql
SET plan_cache_mode = force_generic_plan SET jit = off SET enable_seqscan = off SET enable_bitmapscan = off
SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
  v_name text := 'warm-up-' || pg_backend_pid();
  v_specs jsonb := jsonb_build_array(jsonb_build_object('n', 1, 'type', v_name, 'version', 1, 'queue', v_name, 'priority', 0, 'rankOffsetMs', 0, 'at', 0, 'maxAttempts', 1,
    'origin', 'event', 'policy', '{}', 'retentionMs', 0, 'deadRetentionMs', 0, 'slotAllow', false, 'waits', false, 'decision', 'fired', 'node', v_name));
  v_claim jsonb := jsonb_build_object('token', v_name, 'node', v_name, 'tasks', jsonb_build_array(jsonb_build_object('type', v_name, 'version', 1, 'limit', 9)),
    'queues', NULL, 'limit', 9, 'leaseMs', 0, 'idle', true);
  v_jobs text[];
  v_fences bigint[];
  v_fence bigint;
BEGIN
  -- A page of schedules is decided: its job is taken as it is made, and then, of a second one, left to whoever comes.
  FOR i IN 1..2 LOOP
    INSERT INTO duly.schedules (id, generation, version, state, due_at, updated_at) VALUES (v_name || i, 1, 1, '{}', 0, 0);
    INSERT INTO duly.specs (id, name, spec, created_at) VALUES (v_name || i, v_name || i, '{}', 0);
    PERFORM duly.claim_schedules_f1(0, v_name, v_name || i, 9, 1000, NULL);
    SELECT fence INTO v_fence FROM duly.schedule_leases WHERE token = v_name || i;
    PERFORM duly.fire_f1(0, v_name, v_fence, ARRAY[v_name || i], '{1}', '{"{}"}', '{NULL}', v_specs, NULL,
      ARRAY[v_name || '-fired' || i], '{"null"}', NULL, NULL, NULL, NULL, '{0}', '{"{}"}', '{"{}"}', '[]', ARRAY[v_fence],
      CASE WHEN i = 1 THEN v_claim END, ARRAY[v_name || '-fired' || i]);
  END LOOP;
  -- A worker claims one ready job, a job that is due, and a job that it has just created.
  PERFORM duly.exchange_f1(0, NULL, NULL, NULL, NULL, NULL, v_claim, false);
  PERFORM duly.enqueue_f1(0, v_specs, ARRAY[v_name || '-made'], '{"null"}', NULL, NULL, NULL, false);
  PERFORM duly.exchange_f1(0, NULL, NULL, NULL, NULL, NULL, v_claim, false);
  PERFORM duly.enqueue_f1(-1, v_specs, ARRAY[v_name || '-later'], '{"null"}', NULL, NULL, NULL, false);
  PERFORM duly.exchange_f1(0, NULL, NULL, NULL, NULL, NULL, v_claim, false);
  PERFORM duly.enqueue_f1(0, v_specs, ARRAY[v_name || '-now'], '{"null"}', NULL, NULL, v_claim, false);
  SELECT array_agg(id), array_agg(fence) INTO v_jobs, v_fences FROM duly.leases WHERE node = v_name;
  PERFORM duly.exchange_f1(NULL, v_jobs, v_fences, NULL, NULL, NULL, NULL, false);
END $$;`,
};
