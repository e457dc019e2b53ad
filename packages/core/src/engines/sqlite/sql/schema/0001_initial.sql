-- Small facts of the store: schema version, the lowest code it serves, the fence counter.
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
CREATE INDEX audit_subject ON audit (subject, position);
