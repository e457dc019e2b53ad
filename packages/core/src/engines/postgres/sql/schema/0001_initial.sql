-- Written for the schema "duly"; the name is replaced by that of the store before anything runs.
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
  -- The slot without its details, as JSON; its instant and `allow` stand beside it for the indexes.
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

-- What became visible between two looks: n changes, numbered from first_position on, in the rows `seqs`.
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
CREATE INDEX audit_subject ON duly.audit (subject, position);
