// Made by `npm run generate` from the routes of the server. Do not edit.

export type AcquireLock = {
  /** How long it is held without renewal. Default 5 minutes. */
  ttl?: string | number;
  /** How long to wait for it: seconds, or a text like "10s"; at most a minute. Default 0. */
  wait?: number | string;
  /** Who takes it, for those who ask. Left out: the key. */
  holder?: string;
  host?: string;
  pid?: number;
  /** Created by the caller. After an answer that was lost, the same token is given the same lock. */
  token?: string;
};

export type AcquiredLock = {
  acquired: true;
  name: string;
  /** The fence that `acquire` gave. */
  fence: number;
  until: string;
  /** The time that remains, by the clock of the store. */
  ttl_ms: number;
};

export type Alert = {
  rule: string;
  subject: string;
  message: string;
  fired_at: string;
  /** No channel was notified: a maintenance window. */
  muted: boolean;
};

export type AlertChannel = {
  id: string;
  kind: "webhook" | "slack" | "email" | "command";
  note: string | null;
  /** The host, the addresses or the program. */
  to: string;
};

export type AlertRule = {
  id: string;
  kind: "stuck" | "failure_rate" | "failures_in_row" | "schedule_deadline" | "waiting" | "no_worker" | "dead_letters";
  enabled: boolean;
  /** Milliseconds. */
  for: number;
  types: string[] | null;
  channels: string[] | null;
  /** Milliseconds. */
  after?: number;
  above?: number;
  /** Milliseconds. */
  window?: number;
  min_count?: number;
  count?: number;
};

export type AlertRuleChange = {
  /** Milliseconds, or a text like "15m", "3 days", "PT15M". */
  after?: string | number;
  above?: number;
  /** Milliseconds, or a text like "15m", "3 days", "PT15M". */
  window?: string | number;
  min_count?: number;
  count?: number;
  enabled?: boolean;
  /** How long it must hold before channels are notified; default 0. */
  for?: string | number;
  /** Only of these types; null: of all. */
  types?: string[] | null;
  /** Ids of the channels to notify; null: all of them. */
  channels?: string[] | null;
};

export type AlertWindow = {
  id: string;
  note: string | null;
  rules: string[] | null;
  /** Whether it mutes now. */
  open: boolean;
  from?: string;
  until?: string;
  cron?: string;
  timezone?: string;
  /** Milliseconds. */
  duration?: number;
};

export type Attempt = {
  n: number;
  node: string;
  fence: number;
  started_at: string;
  ended_at: string | null;
  reason: string | null;
  error: JobError | null;
};

export type AuditEntry = {
  position: number;
  at: string;
  actor: string;
  action: string;
  subject: string;
  before?: unknown;
  after?: unknown;
  note: string | null;
};

export type BackfillResult = {
  slots: string[];
  jobs: string[];
  completed_count: number;
  /** Slots of compacted months: left out. */
  compacted_count: number;
  unfinished_count: number;
  dry_run: boolean;
};

export type Change = {
  /** The job. */
  id: string;
  type: string;
  status: JobStatus;
  /** What happened: `created`, `claimed`, `progress`, `log`, `completed` … */
  event: string;
  progress: number | null;
  at: string;
  tenant: string | null;
  queue: string | null;
  schedule: string | null;
};

export type ClaimedJob = {
  id: string;
  type: string;
  version: number;
  queue: string;
  tenant: string | null;
  priority: number;
  input?: unknown;
  metadata: Record<string, unknown>;
  /** The fence that the claim gave. */
  fence: number;
  attempt: number;
  /** Attempts that count, this one included. */
  attempts: number;
  max_attempts: number;
  created_at: string;
  due_at: string;
  claimed_at: string;
  timeout_ms: number | null;
  origin: string;
  schedule: string | null;
  slot: string | null;
  fire_id: string | null;
  parent_id: string | null;
};

export type ComingSlot = {
  slot: string;
  local: string;
  gap: {
    date: string;
    time: string;
  } | null;
  repeat: "first" | "last" | null;
};

export type CommandTarget = {
  /** The program and its arguments; no shell. Arguments may have placeholders. */
  argv: string[];
  /** false: the arguments are taken as they are, whatever stands in them. */
  placeholders?: boolean;
  /** Given to it as it is. Left out: the input as JSON. */
  stdin?: string;
  cwd?: string;
  /** Beside PATH, HOME, LANG, TZ and DULY_*; nothing else of the server is passed on. */
  env?: Record<string, string>;
};

export type Count = {
  count: number;
  /** There are more: counting was stopped. */
  capped: boolean;
};

export type CreatedJob = {
  id: string;
  type: string;
  /** Version of its task; a worker runs jobs up to its own version. */
  version: number;
  status: JobStatus;
  /** Why it has this status, where the status alone does not say. */
  reason: string | null;
  progress: number;
  attempts: number;
  /** Attempts that it may spend; every retry by hand adds those of the policy. */
  max_attempts: number;
  /** How often its node was lost; a loss spends no attempt. */
  losses: number;
  /** Its queue. */
  queue: string;
  /** Its tenant. */
  tenant: string | null;
  /** Higher runs earlier. */
  priority: number;
  /** Its dedupe key. */
  key: string | null;
  /** Jobs with the same serial key (per tenant) run one at a time, in due order. */
  serial: string | null;
  /** When it was created. */
  created_at: string;
  /** When it was, or is, to start (again). */
  due_at: string;
  /** The first start. */
  started_at: string | null;
  /** How long after its due instant it first started; null before. */
  lateness_ms: number | null;
  /** The last change. */
  updated_at: string;
  /** When it finished, with whatever outcome. */
  completed_at: string | null;
  /** The instant after which it can no longer start for the first time. */
  expire_at: string | null;
  /** The node that runs it, or ran it last. */
  node: string | null;
  /** When it was asked to cancel. */
  cancel_requested_at: string | null;
  /** Who asked to cancel. */
  cancelled_by: string | null;
  /** Any JSON. */
  input?: unknown;
  /** What the handler returned; null before that. */
  result?: unknown;
  /** ID of the job that this job repeats. */
  copy_of: string | null;
  next_attempt_at: string | null;
  waiting_for: {
    kind: "time" | "retry";
    until_at: string;
  } | {
    kind: "worker";
  } | {
    kind: "gate";
    gates: {
      kind: string;
      ref: string;
    }[];
  } | null;
  /** The caller's own fields, and what the handler shows of its steps. */
  metadata: {
    current_step?: unknown;
    steps_completed?: unknown;
    steps_total?: unknown;
    [field: string]: unknown;
  };
  error: JobError | null;
  origin: "event" | "schedule" | "trigger" | "backfill" | "retry" | "child";
  parent_id: string | null;
  parent_key: string | null;
  schedule: string | null;
  slot: string | null;
  fire_id: string | null;
  lease_until_at: string | null;
  dead: boolean;
  /** No new job was created: this one holds the key. */
  deduped: boolean;
};

export type CreatedKey = {
  id: string;
  /** Each holds those before it: read, run, operate, admin. */
  scope: "read" | "run" | "operate" | "admin";
  tenant: string | null;
  note: string | null;
  created_at: string;
  created_by: string;
  expires_at: string | null;
  /** The key itself. It is never shown again: in an answer that is repeated for an `Idempotency-Key` it is null. Revoke a key whose answer was lost. */
  key: string | null;
};

export type CreatedWebhook = {
  id: string;
  url: string;
  note: string | null;
  /** The tenant whose jobs it is notified of; null: all. */
  tenant: string | null;
  types: string[] | null;
  schedules: string[] | null;
  statuses: ("COMPLETED" | "FAILED" | "CANCELLED" | "EXPIRED")[] | null;
  enabled: boolean;
  disabled_reason: string | null;
  created_at: string;
  created_by: string;
  /** null in an answer that is repeated for an `Idempotency-Key`: secrets are not stored with it. `GET` shows them. */
  secret: string | null;
};

export type Day = {
  from: string;
  to: string;
  now: string;
  /** A page has 200 schedules. */
  has_more: boolean;
  next_cursor: string | null;
  data: {
    id: string;
    name: string;
    type: string;
    timezone: string;
    words: string;
    paused: boolean;
    slots: {
      slot: string;
      /** The last slot of a run of slots with one decision; else the same. */
      to: string;
      count: number | null;
      /** What became of it; `coming` for one that is still to come. */
      status: string;
    }[];
    /** It has more than 300 slots in this time. */
    capped: boolean;
  }[];
};

export type DeadAction = {
  filter?: JobFilter;
  /** All of this group, instead of a filter: also those that were not looked at. */
  group?: {
    type: string;
    /** The name of the error. */
    name: string;
    /** Its message, without what differs from one job to the next. */
    pattern: string;
  };
  /** All of them, instead of a filter. */
  all?: true;
  dry_run?: boolean;
  /** Only jobs created at or before this instant and, if finished, finished at or before it: `as_of` of a dry run. */
  as_of?: string;
  /** If more jobs than this would change, change none and answer 409 `too_many_match`: `changed` of a dry run. */
  expected?: number;
  /** Why; stored in the audit. */
  note?: string;
};

export type DeadGroup = {
  type: string;
  /** The name of the error. */
  name: string;
  /** Its message, without what differs from one job to the next. */
  pattern: string;
  /** The message of the newest, its first 1,000 characters. */
  example: string;
  count: number;
  first_at: string | null;
  last_at: string | null;
  /** The newest, at most 3, as `brief=true` of `GET /api/jobs` shows them. */
  jobs: Job[];
};

export type DeadGroups = {
  data: DeadGroup[];
  /** How many groups there are; `limit` says how many are shown. */
  group_count: number;
  looked_at: Count & unknown;
};

export type DeclaredSchedules = {
  /** Whose declarations these are. */
  app: string;
  /** Without it nothing is disabled: what is not declared is only shown as drift. */
  release?: string;
  /** Remove what is not declared. */
  prune?: boolean;
  /** What the code says of the tasks of these schedules; the server need not have it. */
  tasks?: DeclaredTask[];
  schedules: NewSchedule[];
};

export type DeclaredTask = {
  type: string;
  version?: number;
  queue?: string;
  priority?: number;
  retry?: number | {
    attempts?: number;
    backoff?: "exponential" | "linear" | "fixed";
    /** Milliseconds, or a text like "15m", "3 days", "PT15M". */
    delay?: string | number;
    factor?: number;
    /** Milliseconds, or a text like "15m", "3 days", "PT15M". */
    max_delay?: string | number;
    jitter?: number;
  };
  /** A duration, or "none". */
  timeout?: string | number;
  /** Milliseconds, or a text like "15m", "3 days", "PT15M". */
  grace?: string | number;
  delivery?: "at-least-once" | "at-most-once";
  /** Milliseconds, or a text like "15m", "3 days", "PT15M". */
  start_deadline?: string | number;
  /** Milliseconds, or a text like "15m", "3 days", "PT15M". */
  retention?: string | number;
  /** Milliseconds, or a text like "15m", "3 days", "PT15M". */
  dead_retention?: string | number;
};

export type Forecast = {
  from: string;
  to: string;
  /** So many runs fall due that fewer hours than asked for were played. */
  is_shortened: boolean;
  schedules: number;
  /** Schedules without a run in this time. */
  idle: number;
  /** Schedules whose rule this server cannot read. */
  unreadable: number;
  runs: number;
  /** Slots without a run, because the one before still goes on or by another policy. */
  left_out: number;
  /** Schedules of which nothing is known: `takes_ms` was taken. */
  without_history: number;
  takes_ms: number;
  lateness_ms: number;
  work_ms: number;
  load: ForecastLoad;
  with_concurrency: {
    concurrency: number;
    wait_ms_p50: number;
    wait_ms_p95: number;
    wait_ms_max: number;
    /** Runs that start more than a second late. */
    late: number;
    done_at: string | null;
  } | null;
  collisions: {
    at: string;
    runs: number;
    names: string[];
  }[];
  overlaps: {
    name: string;
    left_out: number;
    runs: number;
    usual_ms: number;
    /** Nothing is known of its runs: `usual_ms` is what was assumed. */
    without_history: boolean;
  }[];
  clock_changes: {
    at: string;
    kind: "gap" | "repeat";
    timezone: string;
    schedules: number;
    names: string[];
    date: string;
    time: string;
  }[];
  /** Jitter that would lower the peak by a fifth or more, and the load it would give. */
  jitter: {
    schedules: {
      id: string;
      name: string;
      jitter_ms: number;
    }[];
    count: number;
    load: ForecastLoad;
  } | null;
};

export type ForecastLoad = {
  /** The most runs at one instant, by the second. */
  peak: number;
  peak_at: string | null;
  step_ms: number;
  steps: {
    at: string;
    starts: number;
    peak: number;
    mean: number;
  }[];
  /** The fewest with which no run starts later than `lateness_ms`. */
  concurrency_needed: number;
};

export type HttpTarget = {
  /** http or https. Placeholders like {{input.id}} are allowed after the host. */
  url: string;
  /** POST unless given. */
  method?: "GET" | "HEAD" | "POST" | "PUT" | "PATCH" | "DELETE";
  /** Values may have placeholders. `duly-*` and `webhook-*` are refused. */
  headers?: Record<string, string>;
  /** Any JSON, with placeholders; a text is sent as it is. Left out: what the job is and its input. */
  body?: unknown;
  /** Which statuses are a success; "2xx" unless given. Everything else is a failure, which is tried again. */
  expect_status?: number | string | (number | string)[];
  /** 15,000 unless given. */
  timeout_ms?: number;
  /** Signs the request as webhooks are, with the secret of targets: `GET /api/webhooks/secrets?for=targets`. */
  sign?: boolean;
};

export type Job = {
  id: string;
  type: string;
  /** Version of its task; a worker runs jobs up to its own version. */
  version: number;
  status: JobStatus;
  /** Why it has this status, where the status alone does not say. */
  reason: string | null;
  progress: number;
  attempts: number;
  /** Attempts that it may spend; every retry by hand adds those of the policy. */
  max_attempts: number;
  /** How often its node was lost; a loss spends no attempt. */
  losses: number;
  /** Its queue. */
  queue: string;
  /** Its tenant. */
  tenant: string | null;
  /** Higher runs earlier. */
  priority: number;
  /** Its dedupe key. */
  key: string | null;
  /** Jobs with the same serial key (per tenant) run one at a time, in due order. */
  serial: string | null;
  /** When it was created. */
  created_at: string;
  /** When it was, or is, to start (again). */
  due_at: string;
  /** The first start. */
  started_at: string | null;
  /** How long after its due instant it first started; null before. */
  lateness_ms: number | null;
  /** The last change. */
  updated_at: string;
  /** When it finished, with whatever outcome. */
  completed_at: string | null;
  /** The instant after which it can no longer start for the first time. */
  expire_at: string | null;
  /** The node that runs it, or ran it last. */
  node: string | null;
  /** When it was asked to cancel. */
  cancel_requested_at: string | null;
  /** Who asked to cancel. */
  cancelled_by: string | null;
  /** Any JSON. */
  input?: unknown;
  /** What the handler returned; null before that. */
  result?: unknown;
  /** ID of the job that this job repeats. */
  copy_of: string | null;
  next_attempt_at: string | null;
  waiting_for: {
    kind: "time" | "retry";
    until_at: string;
  } | {
    kind: "worker";
  } | {
    kind: "gate";
    gates: {
      kind: string;
      ref: string;
    }[];
  } | null;
  /** The caller's own fields, and what the handler shows of its steps. */
  metadata: {
    current_step?: unknown;
    steps_completed?: unknown;
    steps_total?: unknown;
    [field: string]: unknown;
  };
  error: JobError | null;
  origin: "event" | "schedule" | "trigger" | "backfill" | "retry" | "child";
  parent_id: string | null;
  parent_key: string | null;
  schedule: string | null;
  slot: string | null;
  fire_id: string | null;
  lease_until_at: string | null;
  dead: boolean;
};

export type JobBulk = {
  action: "cancel" | "terminate" | "retry" | "discard" | "delete";
  filter: JobFilter;
  /** Only count. */
  dry_run?: boolean;
  /** Only jobs created at or before this instant and, if finished, finished at or before it: `as_of` of a dry run. */
  as_of?: string;
  /** If more jobs than this would change, change none and answer 409 `too_many_match`: `changed` of a dry run. */
  expected?: number;
  /** Why; stored in the audit. */
  note?: string;
  /** Act on so many at most, and answer where to go on. Left out: on all of them, however long that takes. */
  limit?: number;
  /** `next_cursor` of the answer before. */
  cursor?: string;
};

export type JobBulkResult = {
  changed: number;
  /** They match, and their status does not allow it. */
  refused: number;
  dry_run: boolean;
  /** Of a dry run: the instant it counted at. */
  as_of?: string;
  /** Of a dry run: the jobs that would change, newest created first, at most 10,000 of them. */
  ids?: string[];
  /** With `limit`: where to go on; null: that was all. */
  next_cursor?: string | null;
};

export type JobChange = {
  id: string;
  /** `asked`: it runs, and its handler will be notified. `unchanged`: it was so already. */
  result: "changed" | "asked" | "unchanged";
  status: JobStatus;
  due_at: string | null;
};

export type JobError = {
  name: string;
  message: string;
  code?: string;
  /** Shown to operate and admin keys only. */
  stack?: string;
  cause?: JobError;
};

export type JobFilter = {
  ids?: string[];
  status?: string | string[];
  type?: string | string[];
  queue?: string | string[];
  tenant?: string | null;
  key?: string;
  serial?: string;
  parent?: string;
  schedule?: string;
  since?: string;
  before?: string;
  error?: string;
  /** A part of the type, the tenant or the error, or the whole status; any case. Of a list all must match. */
  text?: string | string[];
  dead?: boolean;
  /** Values at paths of the input: { "user.id": 42 }. */
  input?: Record<string, string | number | boolean | null>;
};

export type JobStatus = "SCHEDULED" | "PENDING" | "BLOCKED" | "RUNNING" | "RETRYING" | "COMPLETED" | "FAILED" | "CANCELLED" | "EXPIRED";

export type Key = {
  id: string;
  /** Each holds those before it: read, run, operate, admin. */
  scope: "read" | "run" | "operate" | "admin";
  tenant: string | null;
  note: string | null;
  created_at: string;
  created_by: string;
  expires_at: string | null;
};

export type LedgerSlot = {
  slot: string;
  to: string;
  count: number | null;
  status: string;
  decision: string | null;
  reason: string | null;
  compacted: {
    month: string;
    counts: {
      decision: string;
      count: number;
      at_least: boolean;
    }[];
  } | null;
  node: string | null;
  decided_at: string | null;
  last_decided_at: string | null;
  generation: number;
  runs: {
    id: string;
    /** The slot that it ran for; null: none, as of a trigger. */
    slot: string | null;
    origin: string;
    status: string;
    due_at: string;
    started_at: string | null;
    finished_at: string | null;
    lateness_ms: number | null;
    node: string | null;
  }[];
  deleted: {
    at: string;
    by: string;
    note: string | null;
  } | null;
};

export type Lock = {
  /** `lock`: of `duly.lock` and of this API. `leader`: of `duly.leader`. `once`: of `duly.once`. */
  kind: "lock" | "leader" | "once";
  name: string;
  fence: number;
  holder: {
    host: string;
    pid: number;
    node: string;
  };
  until: string;
  /** The time that remains, by the clock of the store. */
  ttl_ms: number;
};

export type LogLine = {
  n: number;
  attempt: number;
  at: string;
  level: "debug" | "info" | "warn" | "error";
  message: string;
};

export type NewAlertChannel = {
  kind: "webhook";
  url: string;
  /** Why; stored in the audit. */
  note?: string | null;
} | {
  kind: "slack";
  url: string;
  /** Why; stored in the audit. */
  note?: string | null;
} | {
  kind: "email";
  to: string[];
  /** Why; stored in the audit. */
  note?: string | null;
} | {
  kind: "command";
  argv: string[];
  /** Why; stored in the audit. */
  note?: string | null;
};

export type NewAlertRule = {
  kind: "stuck";
  id?: string;
  /** Milliseconds, or a text like "15m", "3 days", "PT15M". */
  after?: string | number;
  enabled?: boolean;
  /** How long it must hold before channels are notified; default 0. */
  for?: string | number;
  /** Only of these types; null: of all. */
  types?: string[] | null;
  /** Ids of the channels to notify; null: all of them. */
  channels?: string[] | null;
} | {
  kind: "failure_rate";
  id?: string;
  /** Per cent. */
  above?: number;
  /** Milliseconds, or a text like "15m", "3 days", "PT15M". */
  window?: string | number;
  min_count?: number;
  enabled?: boolean;
  /** How long it must hold before channels are notified; default 0. */
  for?: string | number;
  /** Only of these types; null: of all. */
  types?: string[] | null;
  /** Ids of the channels to notify; null: all of them. */
  channels?: string[] | null;
} | {
  kind: "failures_in_row";
  id?: string;
  count?: number;
  enabled?: boolean;
  /** How long it must hold before channels are notified; default 0. */
  for?: string | number;
  /** Only of these types; null: of all. */
  types?: string[] | null;
  /** Ids of the channels to notify; null: all of them. */
  channels?: string[] | null;
} | {
  kind: "schedule_deadline";
  id?: string;
  enabled?: boolean;
  /** How long it must hold before channels are notified; default 0. */
  for?: string | number;
  /** Only of these types; null: of all. */
  types?: string[] | null;
  /** Ids of the channels to notify; null: all of them. */
  channels?: string[] | null;
} | {
  kind: "waiting";
  id?: string;
  /** Milliseconds, or a text like "15m", "3 days", "PT15M". */
  after?: string | number;
  enabled?: boolean;
  /** How long it must hold before channels are notified; default 0. */
  for?: string | number;
  /** Only of these types; null: of all. */
  types?: string[] | null;
  /** Ids of the channels to notify; null: all of them. */
  channels?: string[] | null;
} | {
  kind: "no_worker";
  id?: string;
  /** Milliseconds, or a text like "15m", "3 days", "PT15M". */
  after?: string | number;
  enabled?: boolean;
  /** How long it must hold before channels are notified; default 0. */
  for?: string | number;
  /** Only of these types; null: of all. */
  types?: string[] | null;
  /** Ids of the channels to notify; null: all of them. */
  channels?: string[] | null;
} | {
  kind: "dead_letters";
  id?: string;
  above?: number;
  enabled?: boolean;
  /** How long it must hold before channels are notified; default 0. */
  for?: string | number;
  /** Only of these types; null: of all. */
  types?: string[] | null;
  /** Ids of the channels to notify; null: all of them. */
  channels?: string[] | null;
};

export type NewAlertWindow = {
  from: string;
  until: string;
  rules?: string[] | null;
  /** Why; stored in the audit. */
  note?: string | null;
} | {
  cron: string;
  timezone?: string;
  /** Milliseconds, or a text like "15m", "3 days", "PT15M". */
  duration: string | number;
  rules?: string[] | null;
  /** Why; stored in the audit. */
  note?: string | null;
};

export type NewEnd = {
  /** How long it lives from now. */
  ttl?: string | number;
  /** Its end, instead of `ttl`. */
  expires_at?: string;
};

export type NewJob = {
  /** The name of the task; left out beside `target`. */
  type?: string;
  target?: Target;
  /** Notified when the job ends: a webhook. */
  callback_url?: string;
  /** Any JSON. */
  input?: unknown;
  /** When it is due. */
  run_at?: string;
  /** Milliseconds, or a text like "15m", "3 days", "PT15M". */
  delay?: string | number;
  /** Short for dedupe: { "key": … }. */
  key?: string;
  dedupe?: {
    key: string;
    /** How long a job holds the key. Left out: until it is over. */
    for?: string | number;
    mode?: "drop" | "replace" | "extend";
    /** Milliseconds, or a text like "15m", "3 days", "PT15M". */
    max_wait?: string | number;
  };
  metadata?: Record<string, unknown>;
  queue?: string;
  priority?: number;
  tenant?: string | null;
  serial?: string;
  /** Milliseconds, or a text like "15m", "3 days", "PT15M". */
  start_deadline?: string | number;
  retry?: number | {
    attempts?: number;
    backoff?: "exponential" | "linear" | "fixed";
    /** Milliseconds, or a text like "15m", "3 days", "PT15M". */
    delay?: string | number;
    factor?: number;
    /** Milliseconds, or a text like "15m", "3 days", "PT15M". */
    max_delay?: string | number;
    jitter?: number;
  };
  /** A duration, or "none". */
  timeout?: string | number;
  delivery?: "at-least-once" | "at-most-once";
};

export type NewKey = {
  /** Each holds those before it: read, run, operate, admin. */
  scope: "read" | "run" | "operate" | "admin";
  /** The one tenant that it is for. */
  tenant?: string | null;
  /** What it is for. */
  note?: string;
  expires_at?: string;
};

export type NewSchedule = {
  /** Default: the type. */
  name?: string;
  /** The name of the task; left out beside `target`. */
  type?: string;
  target?: Target;
  /** Notified when each of its jobs ends. */
  callback_url?: string;
  tenant?: string | null;
  cron?: string;
  /** From start to start. */
  rate?: string | number;
  /** From the end of a run to the next. */
  delay?: string | number;
  rrule?: string;
  timezone?: string;
  /** Of a rate: "start" or "epoch". */
  anchor?: string;
  /** gap: "next" or "skip"; repeat: "first", "last" or "both". */
  dst?: {
    gap?: string;
    repeat?: string;
  };
  exclude?: (string | {
    dates: string[];
  } | {
    cron: string;
  } | {
    rrule: string;
  })[];
  /** "skip", "latest" or "all". */
  missed?: string;
  /** Milliseconds, or a text like "15m", "3 days", "PT15M". */
  catch_up_window?: string | number;
  catch_up_limit?: number;
  /** "skip", "allow", "bufferOne", "bufferAll", "cancelOther" or "terminateOther". */
  overlap?: string;
  buffer_limit?: number;
  /** Milliseconds, or a text like "15m", "3 days", "PT15M". */
  start_deadline?: string | number;
  /** Milliseconds, or a text like "15m", "3 days", "PT15M". */
  finish_deadline?: string | number;
  /** Milliseconds, or a text like "15m", "3 days", "PT15M". */
  jitter?: string | number;
  jitter_mode?: string;
  on_resume?: string;
  on_edit?: string;
  pause_after_failures?: number;
  flag_after_failures?: number;
  /** An instant; with a `timezone` also a wall time or a date in it. */
  start_at?: string;
  /** An instant; with a `timezone` also a wall time or a date in it. */
  end_at?: string;
  max_runs?: number;
  input?: unknown;
  queue?: string;
  priority?: number;
  metadata?: Record<string, unknown>;
  serial?: string;
  /** What a person should know about it. */
  note?: string;
  retry?: number | {
    attempts?: number;
    backoff?: "exponential" | "linear" | "fixed";
    /** Milliseconds, or a text like "15m", "3 days", "PT15M". */
    delay?: string | number;
    factor?: number;
    /** Milliseconds, or a text like "15m", "3 days", "PT15M". */
    max_delay?: string | number;
    jitter?: number;
  };
  /** Milliseconds, or a text like "15m", "3 days", "PT15M". */
  timeout?: string | number;
  delivery?: "at-least-once" | "at-most-once";
};

export type NewValue = {
  value: unknown;
  /** How long it lives from now. */
  ttl?: string | number;
  /** Its end, instead of `ttl`. */
  expires_at?: string;
};

export type NewWebhook = {
  url: string;
  /** Why; stored in the audit. */
  note?: string | null;
  types?: string[] | null;
  schedules?: string[] | null;
  statuses?: ("COMPLETED" | "FAILED" | "CANCELLED" | "EXPIRED")[] | null;
  enabled?: boolean;
  tenant?: string | null;
};

export type Node = {
  id: string;
  app: string;
  release: string | null;
  host: string;
  pid: number;
  roles: string[];
  tasks: {
    type: string;
    version: number;
    concurrency?: number | null;
  }[];
  queues: string[] | null;
  concurrency: number;
  running: number;
  running_by_type: {
    type: string;
    count: number;
  }[];
  not_ready: string | null;
  started_at: string;
  heartbeat_at: string;
  /** It has missed a heartbeat, and may be gone. */
  silent: boolean;
  drain_requested_at: string | null;
};

export type Pause = {
  scope: "all" | "queue" | "type";
  name: string | null;
  by: string;
  note: string | null;
  since_at: string;
  until_at: string | null;
};

export type Problem = {
  type: string;
  title: string;
  status: number;
  /** Stable; docs/reference/errors.md explains each. */
  code: string;
  detail: string;
  hint?: string;
  details?: Record<string, unknown>;
};

export type Queue = {
  queue: string;
  paused: boolean;
  /** Its own pause, or that of everything. */
  pause: Pause | null;
  lanes: {
    type: string;
    version: number;
    ready: Count;
    /** Since when the oldest waits. */
    oldest_due_at: string | null;
  }[];
};

export type Queues = {
  data: Queue[];
  has_more: boolean;
  next_cursor: string | null;
  status: {
    SCHEDULED: Count;
    PENDING: Count;
    BLOCKED: Count;
    RUNNING: Count;
    RETRYING: Count;
    COMPLETED: Count;
    FAILED: Count;
    CANCELLED: Count;
    EXPIRED: Count;
  };
};

export type Readiness = {
  status: "ready" | "not_ready";
  reasons: string[];
  /** How long the store took to answer; null: it did not. */
  store_ms: number | null;
  nodes: {
    id: string;
    heartbeat_age_ms: number;
    not_ready: string | null;
  }[];
};

export type ReleaseLock = {
  /** The fence that `acquire` gave. */
  fence: number;
};

export type RenewLock = {
  /** The fence that `acquire` gave. */
  fence: number;
  /** How long it is held without renewal. Default 5 minutes. */
  ttl?: string | number;
};

export type RenewedLock = {
  name: string;
  /** The fence that `acquire` gave. */
  fence: number;
  until: string;
  /** The time that remains, by the clock of the store. */
  ttl_ms: number;
};

export type Rotate = {
  /** How long the secret before is used too; default 1 day. */
  overlap?: string | number;
};

export type RotatedSecrets = {
  /** null in an answer that is repeated for an `Idempotency-Key`: secrets are not stored with it. `GET` shows them. */
  secrets: string[] | null;
};

export type RulePreview = {
  kind: string;
  words: string;
  timezone: string;
  slots: ComingSlot[];
};

export type Schedule = {
  id: string;
  name: string;
  type: string;
  /** The app whose code declares it; null: dynamic. */
  app: string | null;
  tenant: string | null;
  status: "active" | "paused" | "disabled" | "ended" | "deleted";
  kind: "cron" | "rate" | "delay" | "rrule";
  cron?: unknown;
  rate?: unknown;
  anchor?: unknown;
  delay?: unknown;
  rrule?: unknown;
  timezone: string;
  dst?: unknown;
  exclude?: unknown;
  /** The rule in words. */
  words: string;
  unreadable: {
    code: string;
    message: string;
    hint: string | null;
  } | null;
  next_slot: string | null;
  next_run_at: string | null;
  last_run: {
    slot: string;
    job_id: string;
    status: "SCHEDULED" | "PENDING" | "BLOCKED" | "RUNNING" | "RETRYING" | "COMPLETED" | "FAILED" | "CANCELLED" | "EXPIRED" | null;
    started_at: string | null;
    finished_at: string | null;
    duration_ms: number | null;
    lateness_ms: number | null;
  } | null;
  skips: string[];
  paused: {
    by: string | null;
    note: string | null;
    at: string;
    until_at: string | null;
    cause: "person" | "failures" | "disabled";
  } | null;
  disabled: {
    at: string;
    note: string | null;
  } | null;
  deleted: {
    at: string;
    by: string;
    note: string | null;
  } | null;
  flagged: {
    at: string;
    failure_count: number;
  } | null;
  drift: {
    kind: "overridden" | "undeclared";
    fields: {
      field: string;
      declared?: unknown;
      stands?: unknown;
    }[];
    by: string | null;
    at: string | null;
    note: string | null;
  } | null;
  policies: Record<string, unknown>;
  input?: unknown;
  queue: string;
  priority: number;
  metadata: Record<string, unknown>;
  generation: number;
  fired_count: number;
  failures_in_row: number;
  release: string | null;
  note: string | null;
  created_at: string;
  updated_at: string;
  /** The body that creates the same schedule; only with `definition=true`. */
  definition?: Record<string, unknown>;
};

export type ScheduleChanges = {
  cron?: string | null;
  /** From start to start. */
  rate?: string | number | null;
  /** From the end of a run to the next. */
  delay?: string | number | null;
  rrule?: string | null;
  timezone?: string | null;
  /** Of a rate: "start" or "epoch". */
  anchor?: string | null;
  /** gap: "next" or "skip"; repeat: "first", "last" or "both". */
  dst?: {
    gap?: string;
    repeat?: string;
  } | null;
  exclude?: (string | {
    dates: string[];
  } | {
    cron: string;
  } | {
    rrule: string;
  })[] | null;
  /** "skip", "latest" or "all". */
  missed?: string | null;
  /** Milliseconds, or a text like "15m", "3 days", "PT15M". */
  catch_up_window?: string | number | null;
  catch_up_limit?: number | null;
  /** "skip", "allow", "bufferOne", "bufferAll", "cancelOther" or "terminateOther". */
  overlap?: string | null;
  buffer_limit?: number | null;
  /** Milliseconds, or a text like "15m", "3 days", "PT15M". */
  start_deadline?: string | number | null;
  /** Milliseconds, or a text like "15m", "3 days", "PT15M". */
  finish_deadline?: string | number | null;
  /** Milliseconds, or a text like "15m", "3 days", "PT15M". */
  jitter?: string | number | null;
  jitter_mode?: string | null;
  on_resume?: string | null;
  on_edit?: string | null;
  pause_after_failures?: number | null;
  flag_after_failures?: number | null;
  /** An instant; with a `timezone` also a wall time or a date in it. */
  start_at?: string | null;
  /** An instant; with a `timezone` also a wall time or a date in it. */
  end_at?: string | null;
  max_runs?: number | null;
  input?: unknown;
  queue?: string | null;
  priority?: number | null;
  metadata?: Record<string, unknown> | null;
  serial?: string | null;
  /** What a person should know about it. */
  note?: string | null;
  target?: Target & unknown;
  /** Notified when each run ends; null: no URL. */
  callback_url?: string | null;
  /** Why; stored in the audit. */
  edit_note?: string;
};

export type ScheduleDiff = {
  id: string;
  name: string;
  tenant: string | null;
  action: "add" | "edit" | "enable" | "none" | "keep" | "disable" | "drift" | "remove";
  fields: {
    field: string;
    stored?: unknown;
    declared?: unknown;
  }[];
  note: string | null;
};

export type ScheduleStats = {
  schedule_id: string;
  completed: number;
  failed: number;
  cancelled: number;
  expired: number;
  /** Of completed runs, their last attempt. */
  duration_ms_p50: number | null;
  duration_ms_p95: number | null;
  /** From due to start. */
  wait_ms_p50: number | null;
  wait_ms_p95: number | null;
  /** When the last of them completed. */
  last_completed_at: string | null;
};

export type Session = {
  actor: string;
  /** Each holds those before it: read, run, operate, admin. */
  scope: "read" | "run" | "operate" | "admin";
  tenant: string | null;
};

export type SigningSecrets = {
  secrets: string[];
};

export type SlotWhy = {
  schedule: string;
  schedule_id: string;
  slot: string;
  status: string;
  decision: string | null;
  reason: string | null;
  sentence: string;
  runs: {
    id: string;
    /** The slot that it ran for; null: none, as of a trigger. */
    slot: string | null;
    origin: string;
    status: string;
    due_at: string;
    started_at: string | null;
    finished_at: string | null;
    lateness_ms: number | null;
    node: string | null;
  }[];
  as_of_at: string;
  [field: string]: unknown;
};

export type TakenLock = {
  acquired: false;
  name: string;
  holder: {
    host: string;
    pid: number;
    node: string;
  };
  until: string;
  /** The time that remains, by the clock of the store. */
  ttl_ms: number;
};

/** An HTTP request or a command instead of a task in code. */
export type Target = {
  http: HttpTarget;
} | {
  command: CommandTarget;
};

export type Task = {
  type: string;
  /** How many live workers handle it. */
  workers: number;
  /** The newest that a worker handles or has reported. */
  version: number | null;
  /** What its input looks like, as JSON Schema (draft 2020-12), where the schema of the task can say it. */
  input_schema: Record<string, unknown> | null;
};

export type Trend = {
  now: string;
  step_ms: number;
  /** Oldest first; the last one is not over yet. */
  data: TrendStep[];
};

export type TrendStep = {
  from: string;
  completed: number;
  failed: number;
  cancelled: number;
  expired: number;
  /** Of completed runs, their last attempt. */
  duration_ms_p50: number | null;
  duration_ms_p95: number | null;
  /** From due to start. */
  wait_ms_p50: number | null;
  wait_ms_p95: number | null;
  wait_ms_p99: number | null;
  /** From due to start, of the runs that schedules created at their slots. */
  lateness_ms_p50: number | null;
  lateness_ms_p95: number | null;
  lateness_ms_p99: number | null;
  /** More than a thousand jobs ended: percentiles are those of a sample. How many ended is still counted; with `type` or `schedule` it is estimated. */
  sampled: boolean;
};

export type TriggerResult = {
  result: "created" | "merged" | "skipped";
  job: Job | null;
  reason: string | null;
};

export type TypeStats = {
  type: string;
  completed: number;
  failed: number;
  cancelled: number;
  expired: number;
  /** Of completed runs, their last attempt. */
  duration_ms_p50: number | null;
  duration_ms_p95: number | null;
  /** From due to start. */
  wait_ms_p50: number | null;
  wait_ms_p95: number | null;
  /** When the last of them completed. */
  last_completed_at: string | null;
};

export type Upcoming = {
  from: string;
  to: string;
  step_ms: number;
  /** The steps in which some fall due. */
  steps: {
    from: string;
    count: number;
  }[];
  /** There are more than were counted. */
  capped: boolean;
  /** The earliest due first, as `brief=true` of `GET /api/jobs` shows them. */
  data: Job[];
};

export type Value = {
  name: string;
  key: string;
  value?: unknown;
  expires_at: string;
  /** The time that remains, by the clock of the store. */
  ttl_ms: number;
};

export type Webhook = {
  id: string;
  url: string;
  note: string | null;
  /** The tenant whose jobs it is notified of; null: all. */
  tenant: string | null;
  types: string[] | null;
  schedules: string[] | null;
  statuses: ("COMPLETED" | "FAILED" | "CANCELLED" | "EXPIRED")[] | null;
  enabled: boolean;
  disabled_reason: string | null;
  created_at: string;
  created_by: string;
};

export type WebhookChange = {
  url?: string;
  /** Why; stored in the audit. */
  note?: string | null;
  types?: string[] | null;
  schedules?: string[] | null;
  statuses?: ("COMPLETED" | "FAILED" | "CANCELLED" | "EXPIRED")[] | null;
  enabled?: boolean;
};

export type Why = {
  id: string;
  type: string;
  status: JobStatus;
  sentence: string;
  waiting_for: {
    kind: string;
    [field: string]: unknown;
  } | null;
  waiting_for_all: {
    kind: string;
    [field: string]: unknown;
  }[];
  expected_start_at: string | null;
  attempts: number;
  max_attempts: number;
  node: string | null;
  lease_until_at: string | null;
  timeout_ms: number | null;
  error: JobError | null;
  as_of_at: string;
};

export type WorkerClaim = {
  /** A name of its own; two workers must not share it. */
  worker: string;
  /** What it handles; a version that is left out is 1. */
  tasks: {
    type: string;
    version?: number;
  }[];
  /** Left out: all. */
  queues?: string[];
  /** At most so many. Default 1. */
  limit?: number;
  /** How long to wait for work: seconds, or a text like "10s"; at most a minute. Default 0. */
  wait?: number | string;
  /** How many jobs it runs now. Default 0. */
  running?: number;
  /** How many it runs at most. Default 1. */
  concurrency?: number;
  host?: string;
  pid?: number;
  /** Created by the worker for this claim. After an answer that was lost, the same token is given the same jobs. */
  token?: string;
};

export type WorkerClaimed = {
  jobs: ClaimedJob[];
  /** Somebody asked this worker to take no more work. */
  drain: boolean;
  lease_ms: number;
  /** How often to renew the leases. */
  heartbeat_ms: number;
};

export type WorkerHeartbeat = {
  worker?: string;
  running?: number;
  leases: {
    id: string;
    /** The fence that the claim gave. */
    fence: number;
  }[];
};

export type WorkerHeartbeats = {
  leases: {
    id: string;
    /** `cancel`: stop, and settle as cancelled. `timeout`: it has run too long. `lost`: nothing that is said about this attempt counts any more. */
    state: "kept" | "cancel" | "timeout" | "lost";
  }[];
};

export type WorkerReport = {
  reports: {
    id: string;
    /** The fence that the claim gave. */
    fence: number;
    progress?: {
      percent: number;
      message?: string;
      step?: number;
      of?: number;
    };
    logs?: {
      /** Numbers the lines of this attempt from 1: one that is sent twice is stored once. */
      line: number;
      message: string;
      level?: "debug" | "info" | "warn" | "error";
    }[];
  }[];
};

export type WorkerReported = {
  reports: {
    id: string;
    result: "kept" | "lost";
  }[];
};

export type WorkerSettle = {
  outcomes: {
    id: string;
    /** The fence that the claim gave. */
    fence: number;
    progress?: {
      percent: number;
      message?: string;
      step?: number;
      of?: number;
    };
    logs?: {
      /** Numbers the lines of this attempt from 1: one that is sent twice is stored once. */
      line: number;
      message: string;
      level?: "debug" | "info" | "warn" | "error";
    }[];
    outcome: "completed";
    result?: unknown;
  } | {
    id: string;
    /** The fence that the claim gave. */
    fence: number;
    progress?: {
      percent: number;
      message?: string;
      step?: number;
      of?: number;
    };
    logs?: {
      /** Numbers the lines of this attempt from 1: one that is sent twice is stored once. */
      line: number;
      message: string;
      level?: "debug" | "info" | "warn" | "error";
    }[];
    outcome: "failed";
    error: {
      message: string;
      name?: string;
      stack?: string;
      code?: string;
    };
    /** Instead of the backoff of the job. */
    retry_in?: string | number;
  } | {
    id: string;
    /** The fence that the claim gave. */
    fence: number;
    progress?: {
      percent: number;
      message?: string;
      step?: number;
      of?: number;
    };
    logs?: {
      /** Numbers the lines of this attempt from 1: one that is sent twice is stored once. */
      line: number;
      message: string;
      level?: "debug" | "info" | "warn" | "error";
    }[];
    outcome: "snoozed";
    /** Milliseconds, or a text like "15m", "3 days", "PT15M". */
    in: string | number;
  } | {
    id: string;
    /** The fence that the claim gave. */
    fence: number;
    progress?: {
      percent: number;
      message?: string;
      step?: number;
      of?: number;
    };
    logs?: {
      /** Numbers the lines of this attempt from 1: one that is sent twice is stored once. */
      line: number;
      message: string;
      level?: "debug" | "info" | "warn" | "error";
    }[];
    outcome: "cancelled";
  } | {
    id: string;
    /** The fence that the claim gave. */
    fence: number;
    progress?: {
      percent: number;
      message?: string;
      step?: number;
      of?: number;
    };
    logs?: {
      /** Numbers the lines of this attempt from 1: one that is sent twice is stored once. */
      line: number;
      message: string;
      level?: "debug" | "info" | "warn" | "error";
    }[];
    outcome: "released";
    started?: boolean;
  }[];
};

export type WorkerSettled = {
  outcomes: {
    id: string;
    /** `lost`: the lease was no longer this attempt’s, and nothing was written. */
    result: "done" | "lost";
    status: JobStatus | null;
  }[];
};

/** Every route of the server: what its path, query and body take, and what it answers. */
export interface Operations {
  /** What fires now */
  'GET /api/alerts': {
    path: Record<never, never>;
    query: Record<never, never>;
    body: never;
    answer: {
      data: Alert[];
      has_more: boolean;
      next_cursor: string | null;
    };
  };
  /** List alert rules */
  'GET /api/alerts/rules': {
    path: Record<never, never>;
    query: Record<never, never>;
    body: never;
    answer: {
      data: AlertRule[];
      has_more: boolean;
      next_cursor: string | null;
    };
  };
  /** Create an alert rule */
  'POST /api/alerts/rules': {
    path: Record<never, never>;
    query: Record<never, never>;
    body: NewAlertRule;
    answer: AlertRule;
  };
  /** Change an alert rule */
  'PATCH /api/alerts/rules/{id}': {
    path: { id: string };
    query: Record<never, never>;
    body: AlertRuleChange;
    answer: AlertRule;
  };
  /** Delete an alert rule */
  'DELETE /api/alerts/rules/{id}': {
    path: { id: string };
    query: Record<never, never>;
    body: never;
    answer: null;
  };
  /** List where alerts are sent */
  'GET /api/alerts/channels': {
    path: Record<never, never>;
    query: Record<never, never>;
    body: never;
    answer: {
      data: AlertChannel[];
      has_more: boolean;
      next_cursor: string | null;
    };
  };
  /** Add a channel that alerts are sent to */
  'POST /api/alerts/channels': {
    path: Record<never, never>;
    query: Record<never, never>;
    body: NewAlertChannel;
    answer: AlertChannel;
  };
  /** Send a test through a channel */
  'POST /api/alerts/channels/{id}/test': {
    path: { id: string };
    query: Record<never, never>;
    body: never;
    answer: null;
  };
  /** Delete a channel */
  'DELETE /api/alerts/channels/{id}': {
    path: { id: string };
    query: Record<never, never>;
    body: never;
    answer: null;
  };
  /** List maintenance windows, in which no alert is sent */
  'GET /api/alerts/windows': {
    path: Record<never, never>;
    query: Record<never, never>;
    body: never;
    answer: {
      data: AlertWindow[];
      has_more: boolean;
      next_cursor: string | null;
    };
  };
  /** Create a maintenance window: once, or by the calendar */
  'POST /api/alerts/windows': {
    path: Record<never, never>;
    query: Record<never, never>;
    body: NewAlertWindow;
    answer: AlertWindow;
  };
  /** Delete a maintenance window */
  'DELETE /api/alerts/windows/{id}': {
    path: { id: string };
    query: Record<never, never>;
    body: never;
    answer: null;
  };
  /** Who did what to jobs and schedules, newest first */
  'GET /api/audit': {
    path: Record<never, never>;
    query: { subject?: string | readonly string[]; limit?: number | readonly number[]; cursor?: string | readonly string[] };
    body: never;
    answer: {
      data: AuditEntry[];
      has_more: boolean;
      next_cursor: string | null;
    };
  };
  /** The slots of all schedules in a stretch of time: what became of them, and what is to come */
  'GET /api/day': {
    path: Record<never, never>;
    query: { from: string | readonly string[]; to: string | readonly string[]; order?: "name" | "due" | readonly ("name" | "due")[]; cursor?: string | readonly string[] };
    body: never;
    answer: Day;
  };
  /** List dead letters: FAILED jobs that wait for a person, newest first */
  'GET /api/dead': {
    path: Record<never, never>;
    query: { status?: string | readonly string[]; type?: string | readonly string[]; queue?: string | readonly string[]; tenant?: string | readonly string[]; key?: string | readonly string[]; serial?: string | readonly string[]; parent?: string | readonly string[]; schedule?: string | readonly string[]; since?: string | readonly string[]; before?: string | readonly string[]; error?: string | readonly string[]; text?: string | readonly string[]; dead?: "true" | "false" | readonly ("true" | "false")[]; ids?: string | readonly string[]; limit?: number | readonly number[]; cursor?: string | readonly string[]; count?: "true" | "false" | readonly ("true" | "false")[]; brief?: "true" | "false" | readonly ("true" | "false")[] };
    body: never;
    answer: {
      data: Job[];
      has_more: boolean;
      next_cursor: string | null;
      total?: Count;
    };
  };
  /** Dead letters by what they failed of, the largest group first */
  'GET /api/dead/groups': {
    path: Record<never, never>;
    query: { limit?: number | readonly number[] };
    body: never;
    answer: DeadGroups;
  };
  /** Bring dead letters back */
  'POST /api/dead/retry': {
    path: Record<never, never>;
    query: Record<never, never>;
    body: DeadAction;
    answer: JobBulkResult;
  };
  /** Take dead letters off the list; they stay in history for their retention */
  'POST /api/dead/discard': {
    path: Record<never, never>;
    query: Record<never, never>;
    body: DeadAction;
    answer: JobBulkResult;
  };
  /** Follow the changes of all jobs that match */
  'GET /api/events': {
    path: Record<never, never>;
    query: { job?: string | readonly string[]; type?: string | readonly string[]; status?: string | readonly string[]; event?: string | readonly string[]; queue?: string | readonly string[]; schedule?: string | readonly string[]; tenant?: string | readonly string[]; last_event_id?: string | readonly string[] };
    body: never;
    answer: string;
  };
  /** Every schedule played forward, with durations drawn from history: load, concurrency needed, collisions */
  'GET /api/forecast': {
    path: Record<never, never>;
    query: { hours?: number | readonly number[]; concurrency?: number | readonly number[]; lateness?: string | number | readonly (string | number)[]; takes?: string | number | readonly (string | number)[]; tenant?: string | readonly string[] };
    body: never;
    answer: Forecast;
  };
  /** The jobs that wait for their time and fall due next: how many when, and the earliest */
  'GET /api/upcoming': {
    path: Record<never, never>;
    query: { within?: string | number | readonly (string | number)[]; step?: string | number | readonly (string | number)[]; limit?: number | readonly number[]; tenant?: string | readonly string[] };
    body: never;
    answer: Upcoming;
  };
  /** Whether the process answers; needs no key */
  'GET /livez': {
    path: Record<never, never>;
    query: Record<never, never>;
    body: never;
    answer: {
      status: "ok";
    };
  };
  /** Whether the store answers and the loops of this process move */
  'GET /readyz': {
    path: Record<never, never>;
    query: Record<never, never>;
    body: never;
    answer: Readiness;
  };
  /** Follow one job */
  'GET /api/jobs/{id}/events': {
    path: { id: string };
    query: { logs?: "true" | "false" | readonly ("true" | "false")[]; last_event_id?: string | readonly string[] };
    body: never;
    answer: string | null;
  };
  /** Create a job */
  'POST /api/jobs': {
    path: Record<never, never>;
    query: Record<never, never>;
    body: NewJob;
    answer: CreatedJob;
  };
  /** List jobs, newest first */
  'GET /api/jobs': {
    path: Record<never, never>;
    query: { status?: string | readonly string[]; type?: string | readonly string[]; queue?: string | readonly string[]; tenant?: string | readonly string[]; key?: string | readonly string[]; serial?: string | readonly string[]; parent?: string | readonly string[]; schedule?: string | readonly string[]; since?: string | readonly string[]; before?: string | readonly string[]; error?: string | readonly string[]; text?: string | readonly string[]; dead?: "true" | "false" | readonly ("true" | "false")[]; ids?: string | readonly string[]; limit?: number | readonly number[]; cursor?: string | readonly string[]; count?: "true" | "false" | readonly ("true" | "false")[]; brief?: "true" | "false" | readonly ("true" | "false")[] };
    body: never;
    answer: {
      data: Job[];
      has_more: boolean;
      next_cursor: string | null;
      total?: Count;
    };
  };
  /** The latest job of a type, a tenant, a key */
  'GET /api/jobs/latest': {
    path: Record<never, never>;
    query: { type?: string | readonly string[]; tenant?: string | readonly string[]; key?: string | readonly string[]; status?: string | readonly string[] };
    body: never;
    answer: Job;
  };
  /** Act on all jobs that match */
  'POST /api/jobs/bulk': {
    path: Record<never, never>;
    query: Record<never, never>;
    body: JobBulk;
    answer: JobBulkResult;
  };
  /** Show a job, or wait for it to change */
  'GET /api/jobs/{id}': {
    path: { id: string };
    query: { wait?: number | readonly number[] };
    body: never;
    answer: Job;
  };
  /** Cancel a job; a running one is asked */
  'POST /api/jobs/{id}/cancel': {
    path: { id: string };
    query: Record<never, never>;
    body: {
      /** Why; stored in the audit. */
      note?: string;
      /** End a running job at once instead of asking it. */
      terminate?: boolean;
    } | undefined;
    answer: JobChange;
  };
  /** Bring a FAILED, CANCELLED or EXPIRED job back */
  'POST /api/jobs/{id}/retry': {
    path: { id: string };
    query: Record<never, never>;
    body: {
      /** Why; stored in the audit. */
      note?: string;
    } | undefined;
    answer: JobChange;
  };
  /** Create a new job like this one, due now */
  'POST /api/jobs/{id}/run-again': {
    path: { id: string };
    query: Record<never, never>;
    body: never;
    answer: CreatedJob;
  };
  /** Move a waiting job to another instant */
  'POST /api/jobs/{id}/reschedule': {
    path: { id: string };
    query: Record<never, never>;
    body: {
      run_at?: string;
      /** Milliseconds, or a text like "15m", "3 days", "PT15M". */
      delay?: string | number;
    };
    answer: JobChange;
  };
  /** The lines that its handler logged, oldest first */
  'GET /api/jobs/{id}/logs': {
    path: { id: string };
    query: { limit?: number | readonly number[]; cursor?: string | readonly string[] };
    body: never;
    answer: {
      data: LogLine[];
      has_more: boolean;
      next_cursor: string | null;
    };
  };
  /** Its last attempts, oldest first */
  'GET /api/jobs/{id}/attempts': {
    path: { id: string };
    query: Record<never, never>;
    body: never;
    answer: {
      data: Attempt[];
      has_more: boolean;
      next_cursor: string | null;
    };
  };
  /** What became of it, or what it waits for */
  'GET /api/jobs/{id}/why': {
    path: { id: string };
    query: Record<never, never>;
    body: never;
    answer: Why;
  };
  /** List keys */
  'GET /api/keys': {
    path: Record<never, never>;
    query: Record<never, never>;
    body: never;
    answer: {
      data: Key[];
      has_more: boolean;
      next_cursor: string | null;
    };
  };
  /** Create a key */
  'POST /api/keys': {
    path: Record<never, never>;
    query: Record<never, never>;
    body: NewKey;
    answer: CreatedKey;
  };
  /** Revoke a key */
  'DELETE /api/keys/{id}': {
    path: { id: string };
    query: Record<never, never>;
    body: never;
    answer: null;
  };
  /** Who holds which locks now, by kind and name */
  'GET /api/locks': {
    path: Record<never, never>;
    query: { kind?: "lock" | "leader" | "once" | readonly ("lock" | "leader" | "once")[]; prefix?: string | readonly string[]; limit?: number | readonly number[]; cursor?: string | readonly string[] };
    body: never;
    answer: {
      data: Lock[];
      has_more: boolean;
      next_cursor: string | null;
    };
  };
  /** Take a lock if it is free */
  'POST /api/locks/{name}/acquire': {
    path: { name: string };
    query: Record<never, never>;
    body: AcquireLock | undefined;
    answer: AcquiredLock;
  };
  /** Hold a lock for longer */
  'POST /api/locks/{name}/renew': {
    path: { name: string };
    query: Record<never, never>;
    body: RenewLock;
    answer: RenewedLock;
  };
  /** Give a lock back */
  'POST /api/locks/{name}/release': {
    path: { name: string };
    query: Record<never, never>;
    body: ReleaseLock;
    answer: null;
  };
  /** Metrics in the format of Prometheus */
  'GET /metrics': {
    path: Record<never, never>;
    query: Record<never, never>;
    body: never;
    answer: string;
  };
  /** What is ready in which queue, and how many jobs are in each status */
  'GET /api/queues': {
    path: Record<never, never>;
    query: Record<never, never>;
    body: never;
    answer: Queues;
  };
  /** Stop starting jobs of a queue; they are still accepted */
  'POST /api/queues/{name}/pause': {
    path: { name: string };
    query: Record<never, never>;
    body: {
      /** Why; stored in the audit. */
      note?: string;
      /** When it ends by itself: an instant, or after so long (`2h`). */
      until?: string;
    } | undefined;
    answer: Pause;
  };
  /** End the pause of a queue */
  'POST /api/queues/{name}/resume': {
    path: { name: string };
    query: Record<never, never>;
    body: never;
    answer: {
      resumed: boolean;
    };
  };
  /** The pauses in force */
  'GET /api/pauses': {
    path: Record<never, never>;
    query: Record<never, never>;
    body: never;
    answer: {
      data: Pause[];
      has_more: boolean;
      next_cursor: string | null;
    };
  };
  /** Stop starting jobs of a queue, of a type, or at all */
  'POST /api/pauses': {
    path: Record<never, never>;
    query: Record<never, never>;
    body: {
      queue?: string;
      type?: string;
      all?: true;
      /** Why; stored in the audit. */
      note?: string;
      /** When it ends by itself: an instant, or after so long (`2h`). */
      until?: string;
    };
    answer: Pause;
  };
  /** End a pause */
  'POST /api/pauses/resume': {
    path: Record<never, never>;
    query: Record<never, never>;
    body: {
      queue?: string;
      type?: string;
      all?: true;
    };
    answer: {
      resumed: boolean;
    };
  };
  /** List schedules by name, or by when they are due */
  'GET /api/schedules': {
    path: Record<never, never>;
    query: { name?: string | readonly string[]; type?: string | readonly string[]; tenant?: string | readonly string[]; app?: string | readonly string[]; status?: "active" | "paused" | "disabled" | "ended" | readonly ("active" | "paused" | "disabled" | "ended")[]; search?: string | readonly string[]; order?: "name" | "due" | readonly ("name" | "due")[]; definition?: "true" | "false" | readonly ("true" | "false")[]; limit?: number | readonly number[]; cursor?: string | readonly string[] };
    body: never;
    answer: {
      data: Schedule[];
      has_more: boolean;
      next_cursor: string | null;
    };
  };
  /** Create a schedule, or edit the one with this name */
  'POST /api/schedules': {
    path: Record<never, never>;
    query: Record<never, never>;
    body: NewSchedule;
    answer: Schedule;
  };
  /** A rule in words and its next slots, before it is stored */
  'POST /api/schedules/preview': {
    path: Record<never, never>;
    query: Record<never, never>;
    body: {
      cron?: string;
      /** From start to start. */
      rate?: string | number;
      /** From the end of a run to the next. */
      delay?: string | number;
      rrule?: string;
      timezone?: string;
      /** Of a rate: "start" or "epoch". */
      anchor?: string;
      /** gap: "next" or "skip"; repeat: "first", "last" or "both". */
      dst?: {
        gap?: string;
        repeat?: string;
      };
      exclude?: (string | {
        dates: string[];
      } | {
        cron: string;
      } | {
        rrule: string;
      })[];
      /** An instant; with a `timezone` also a wall time or a date in it. */
      start_at?: string;
      /** An instant; with a `timezone` also a wall time or a date in it. */
      end_at?: string;
      /** An instant; with a `timezone` also a wall time or a date in it. */
      after?: string;
      count?: number;
    };
    answer: RulePreview;
  };
  /** What applying a declared set would do */
  'POST /api/schedules/diff': {
    path: Record<never, never>;
    query: Record<never, never>;
    body: DeclaredSchedules;
    answer: {
      data: ScheduleDiff[];
      has_more: boolean;
      next_cursor: string | null;
    };
  };
  /** Apply the schedules that an app declares */
  'POST /api/schedules/apply': {
    path: Record<never, never>;
    query: Record<never, never>;
    body: DeclaredSchedules;
    answer: {
      data: ScheduleDiff[];
      has_more: boolean;
      next_cursor: string | null;
    };
  };
  /** Show a schedule */
  'GET /api/schedules/{id}': {
    path: { id: string };
    query: { deleted?: "true" | "false" | readonly ("true" | "false")[]; definition?: "true" | "false" | readonly ("true" | "false")[] };
    body: never;
    answer: Schedule;
  };
  /** Change some fields; null takes one back to its default */
  'PATCH /api/schedules/{id}': {
    path: { id: string };
    query: Record<never, never>;
    body: ScheduleChanges;
    answer: Schedule;
  };
  /** Delete it: unstarted jobs are cancelled, running ones finish, the ledger stays */
  'DELETE /api/schedules/{id}': {
    path: { id: string };
    query: { note?: string | readonly string[] };
    body: never;
    answer: null;
  };
  /** Stop decisions; jobs already created go on */
  'POST /api/schedules/{id}/pause': {
    path: { id: string };
    query: Record<never, never>;
    body: {
      /** Why; stored in the audit. */
      note?: string;
      /** When it ends by itself: an instant, a wall time or date in the schedule's zone, or after so long (`2h`). */
      until?: string;
    } | undefined;
    answer: Schedule;
  };
  /** Go on, and decide what fell in the pause */
  'POST /api/schedules/{id}/resume': {
    path: { id: string };
    query: Record<never, never>;
    body: {
      /** Why; stored in the audit. */
      note?: string;
    } | undefined;
    answer: Schedule;
  };
  /** Take an override back: what the code declares rules again */
  'POST /api/schedules/{id}/revert': {
    path: { id: string };
    query: Record<never, never>;
    body: {
      /** Why; stored in the audit. */
      note?: string;
    } | undefined;
    answer: Schedule;
  };
  /** One run now; also while paused */
  'POST /api/schedules/{id}/trigger': {
    path: { id: string };
    query: Record<never, never>;
    body: {
      allow?: boolean;
      input?: unknown;
      /** Why; stored in the audit. */
      note?: string;
    } | undefined;
    answer: TriggerResult;
  };
  /** Name the next slot to be skipped */
  'POST /api/schedules/{id}/skip-next': {
    path: { id: string };
    query: Record<never, never>;
    body: {
      /** Why; stored in the audit. */
      note?: string;
    } | undefined;
    answer: {
      slot: string | null;
      schedule: Schedule;
    };
  };
  /** Create runs for slots of the past that have no COMPLETED one */
  'POST /api/schedules/{id}/backfill': {
    path: { id: string };
    query: Record<never, never>;
    body: {
      from: string;
      to?: string;
      order?: "oldest" | "newest";
      concurrency?: number;
      reprocess?: boolean;
      allow?: boolean;
      dry_run?: boolean;
      /** Why; stored in the audit. */
      note?: string;
    };
    answer: BackfillResult;
  };
  /** The next slots that should fire */
  'GET /api/schedules/{id}/preview': {
    path: { id: string };
    query: { after?: string | readonly string[]; count?: number | readonly number[] };
    body: never;
    answer: {
      data: ComingSlot[];
      has_more: boolean;
      next_cursor: string | null;
    };
  };
  /** The ledger by range, newest first; it remains when the schedule is deleted */
  'GET /api/schedules/{id}/slots': {
    path: { id: string };
    query: { from?: string | readonly string[]; to?: string | readonly string[]; limit?: number | readonly number[]; cursor?: string | readonly string[] };
    body: never;
    answer: {
      data: LedgerSlot[];
      has_more: boolean;
      next_cursor: string | null;
    };
  };
  /** What became of a slot and why, or what is to become of it */
  'GET /api/schedules/{id}/why': {
    path: { id: string };
    query: { slot: string | readonly string[] };
    body: never;
    answer: SlotWhy;
  };
  /** Who the server takes the caller for */
  'GET /api/session': {
    path: Record<never, never>;
    query: Record<never, never>;
    body: never;
    answer: Session;
  };
  /** Sign a browser in: the key goes in the Authorization header, a cookie comes back */
  'POST /api/session': {
    path: Record<never, never>;
    query: Record<never, never>;
    body: never;
    answer: Session;
  };
  /** Sign a browser out */
  'DELETE /api/session': {
    path: Record<never, never>;
    query: Record<never, never>;
    body: never;
    answer: null;
  };
  /** Open a link that carries a key: a page asks whether to sign in with it */
  'GET /signin': {
    path: Record<never, never>;
    query: { key?: string | readonly string[] };
    body: never;
    answer: string;
  };
  /** Sign a browser in with the key of the link that it has opened */
  'POST /signin': {
    path: Record<never, never>;
    query: { key_id?: string | readonly string[] };
    body: never;
    answer: null;
  };
  /** Follow jobs over a WebSocket */
  'GET /api/ws': {
    path: Record<never, never>;
    query: Record<never, never>;
    body: never;
    answer: null;
  };
  /** What became of the jobs that ended lately, by type, with the usual durations */
  'GET /api/stats': {
    path: Record<never, never>;
    query: { since?: string | readonly string[] };
    body: never;
    answer: {
      data: TypeStats[];
      has_more: boolean;
      next_cursor: string | null;
    };
  };
  /** What became of the last runs of schedules, with the usual durations and the last success */
  'GET /api/stats/schedules': {
    path: Record<never, never>;
    query: { schedule?: string | readonly string[]; ids?: string | readonly string[]; since?: string | readonly string[] };
    body: never;
    answer: {
      data: ScheduleStats[];
      has_more: boolean;
      next_cursor: string | null;
    };
  };
  /** What ended over time: throughput by outcome, and percentiles of wait, lateness and duration */
  'GET /api/stats/trend': {
    path: Record<never, never>;
    query: { since?: string | readonly string[]; step?: string | readonly string[]; type?: string | readonly string[]; schedule?: string | readonly string[] };
    body: never;
    answer: Trend;
  };
  /** The tasks that workers handle or have reported, with what their inputs look like */
  'GET /api/tasks': {
    path: Record<never, never>;
    query: Record<never, never>;
    body: never;
    answer: {
      data: Task[];
      has_more: boolean;
      next_cursor: string | null;
    };
  };
  /** Store a value until its time */
  'PUT /api/values/{name}/{key}': {
    path: { name: string; key: string };
    query: Record<never, never>;
    body: NewValue;
    answer: Value;
  };
  /** Show a value and the time that remains */
  'GET /api/values/{name}/{key}': {
    path: { name: string; key: string };
    query: Record<never, never>;
    body: never;
    answer: Value;
  };
  /** Move the end of a value */
  'PATCH /api/values/{name}/{key}': {
    path: { name: string; key: string };
    query: Record<never, never>;
    body: NewEnd;
    answer: Value;
  };
  /** Remove a value before its time */
  'DELETE /api/values/{name}/{key}': {
    path: { name: string; key: string };
    query: Record<never, never>;
    body: never;
    answer: null;
  };
  /** List webhooks */
  'GET /api/webhooks': {
    path: Record<never, never>;
    query: Record<never, never>;
    body: never;
    answer: {
      data: Webhook[];
      has_more: boolean;
      next_cursor: string | null;
    };
  };
  /** Create a webhook: a URL that is notified when jobs end */
  'POST /api/webhooks': {
    path: Record<never, never>;
    query: Record<never, never>;
    body: NewWebhook;
    answer: CreatedWebhook;
  };
  /** Show the secrets that sign callbacks, or HTTP targets */
  'GET /api/webhooks/secrets': {
    path: Record<never, never>;
    query: { for?: "callbacks" | "targets" | readonly ("callbacks" | "targets")[] };
    body: never;
    answer: SigningSecrets;
  };
  /** Sign callbacks, or HTTP targets, with a new secret */
  'POST /api/webhooks/secrets/rotate': {
    path: Record<never, never>;
    query: { for?: "callbacks" | "targets" | readonly ("callbacks" | "targets")[] };
    body: Rotate | undefined;
    answer: RotatedSecrets;
  };
  /** Show a webhook */
  'GET /api/webhooks/{id}': {
    path: { id: string };
    query: Record<never, never>;
    body: never;
    answer: Webhook;
  };
  /** Change a webhook, or enable it again */
  'PATCH /api/webhooks/{id}': {
    path: { id: string };
    query: Record<never, never>;
    body: WebhookChange;
    answer: Webhook;
  };
  /** Delete a webhook */
  'DELETE /api/webhooks/{id}': {
    path: { id: string };
    query: Record<never, never>;
    body: never;
    answer: null;
  };
  /** Show the secrets of a webhook */
  'GET /api/webhooks/{id}/secrets': {
    path: { id: string };
    query: Record<never, never>;
    body: never;
    answer: SigningSecrets;
  };
  /** Sign with a new secret, and with the one before for a while */
  'POST /api/webhooks/{id}/rotate': {
    path: { id: string };
    query: Record<never, never>;
    body: Rotate | undefined;
    answer: RotatedSecrets;
  };
  /** The live nodes, and what they run */
  'GET /api/nodes': {
    path: Record<never, never>;
    query: Record<never, never>;
    body: never;
    answer: {
      data: Node[];
      has_more: boolean;
      next_cursor: string | null;
    };
  };
  /** Ask a node to take no more work */
  'POST /api/nodes/{id}/drain': {
    path: { id: string };
    query: Record<never, never>;
    body: never;
    answer: {
      id: string;
    };
  };
  /** Take jobs under lease, and wait for some */
  'POST /api/worker/claim': {
    path: Record<never, never>;
    query: Record<never, never>;
    body: WorkerClaim;
    answer: WorkerClaimed;
  };
  /** Renew leases, and receive which jobs are to stop */
  'POST /api/worker/heartbeat': {
    path: Record<never, never>;
    query: Record<never, never>;
    body: WorkerHeartbeat;
    answer: WorkerHeartbeats;
  };
  /** Show progress and log lines of running jobs */
  'POST /api/worker/report': {
    path: Record<never, never>;
    query: Record<never, never>;
    body: WorkerReport;
    answer: WorkerReported;
  };
  /** Hand in how jobs ended */
  'POST /api/worker/settle': {
    path: Record<never, never>;
    query: Record<never, never>;
    body: WorkerSettle;
    answer: WorkerSettled;
  };
  /** This document */
  'GET /openapi.json': {
    path: Record<never, never>;
    query: Record<never, never>;
    body: never;
    answer: {
      openapi: string;
      [field: string]: unknown;
    };
  };
}
