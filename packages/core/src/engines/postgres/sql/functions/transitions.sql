-- Transitions of a job that several verbs share: becoming ready, waiting behind a gate, and ending, with everything that an end
-- releases.
--
-- Lock order, for whoever waits: dedupe rows, serial keys, the lease, the job. A claim and a reap never wait.
-- Every statement of a function sees what was committed before it, so the rule is: take the lock, then look.
--
-- A session plans a statement once and may reuse the plan for days, so no plan may depend on how full a table was when it was made. Three rules:
-- 1. A list that was sent drives the lookup: `t.id = ANY (ARRAY[list.id])`, not `t.id = list.id`, and it is sorted by its own columns. The planner
--    can turn the first form only into one index lookup for each entry. With the second, if the table was empty, it reads the whole table and
--    searches the list for each row. Of a key of several columns only the first is written like this.
-- 2. A lookup by id hides conditions that a partial index has: `coalesce(rank IS NULL, false)`. Otherwise the planner may read that index instead.
-- 3. Rows that were found and locked are changed by `ctid`.
-- Every function that a session calls again and again has the planner settings that go with these rules in its header, from
-- `plan_cache_mode` to `enable_mergejoin`: they leave only index lookups in nested loops, which are right for a table of any size.
-- A test holds all of these functions to it (postgres/plans.test.ts). What reads by a filter is planned at each call and has its own settings.
--
-- The function of a verb that writes has `lock_timeout`: a row of another open transaction makes it fail after 2 s with nothing done (55P03).
-- Settings are those of functions and not of the session, because a pooler may stand between, and they end with the call.

-- The name of a serial place: keys are per tenant, and any text may be a key.
CREATE FUNCTION duly.serial_ref(p_tenant text, p_serial text) RETURNS text LANGUAGE sql IMMUTABLE AS $$
  SELECT '[' || coalesce(to_json(p_tenant)::text, 'null') || ',' || to_json(p_serial)::text || ']'
$$;

-- Serial keys share 512 locks: one lock per key would let a single call fill the server's lock table.
CREATE FUNCTION duly.serial_lock(p_ref text) RETURNS integer LANGUAGE sql IMMUTABLE AS $$
  SELECT hashtext(p_ref) & 511
$$;

-- Whether this is a settlement in a transaction of the user's own, which must hold nothing until they commit that others want too.
CREATE FUNCTION duly.in_user_transaction() RETURNS boolean LANGUAGE sql STABLE AS $$
  SELECT coalesce(current_setting('duly_work.user_transaction', true), '') = '1'
$$;

CREATE FUNCTION duly.lock_serial(p_ref text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  IF duly.in_user_transaction() THEN RETURN; END IF;
  PERFORM pg_advisory_xact_lock(hashtext('duly.serial'), duly.serial_lock(p_ref));
END $$;

CREATE FUNCTION duly.try_lock_serial(p_ref text) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
  RETURN pg_try_advisory_xact_lock(hashtext('duly.serial'), duly.serial_lock(p_ref));
END $$;

-- Takes the locks of these serial keys in one order, before any row is locked: two calls with the same keys cannot wait for each other.
CREATE FUNCTION duly.lock_serials(p_refs text[]) RETURNS void LANGUAGE plpgsql AS $$
DECLARE v_lock integer;
BEGIN
  IF duly.in_user_transaction() THEN RETURN; END IF;
  FOR v_lock IN SELECT DISTINCT duly.serial_lock(r) FROM unnest(p_refs) r ORDER BY 1 LOOP
    PERFORM pg_advisory_xact_lock(hashtext('duly.serial'), v_lock);
  END LOOP;
END $$;

-- Locks what the end or the move of these jobs may touch before their rows: their dedupe keys, then the serial keys of them and of those who wait
-- for them.
CREATE FUNCTION duly.lock_dependents(p_ids text[]) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  PERFORM 1 FROM duly.jobs j JOIN duly.dedupes d
    ON d.type = ANY (ARRAY[j.type]) AND d.tenant = coalesce(j.tenant, '') AND d.key = j.dedupe_key
  WHERE j.id = ANY (p_ids) AND j.dedupe_key IS NOT NULL ORDER BY j.type, coalesce(j.tenant, ''), j.dedupe_key FOR UPDATE OF d;
  PERFORM duly.lock_serials(ARRAY(
    SELECT duly.serial_ref(j.tenant, j.serial) FROM duly.jobs j WHERE j.id = ANY (p_ids) AND j.serial IS NOT NULL
    UNION SELECT duly.serial_ref(w.tenant, w.serial) FROM duly.gates g JOIN duly.jobs w ON w.id = ANY (ARRAY[g.job])
    WHERE g.ref = ANY (p_ids) AND g.kind <> 'serial' AND w.serial IS NOT NULL));
END $$;

-- A live job, locked with all that its end would touch, as it stands: while it runs its lease knows better. Null: not live.
CREATE FUNCTION duly.job_state(p_id text) RETURNS duly.jobs LANGUAGE plpgsql AS $$
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
  IF v_serial IS NOT NULL THEN PERFORM duly.lock_serial(duly.serial_ref(v_tenant, v_serial)); END IF;
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
CREATE FUNCTION duly.place(p_now bigint, p_job duly.jobs, p_status text, p_ready boolean, p_event text)
RETURNS text LANGUAGE plpgsql AS $$
BEGIN
  UPDATE duly.jobs SET
    status = p_status, rank = CASE WHEN p_ready THEN p_job.due_at + rank_offset END,
    expire_at = expire_at + (p_job.due_at - due_at), due_at = p_job.due_at, updated_at = p_now
  WHERE id = p_job.id;
  PERFORM duly.changed(p_now, p_job.id, p_job.type, p_status, p_event, p_job.percent);
  -- Not ready means due later: a sleeping node must learn of an earlier instant as well.
  PERFORM duly.add_job_notification(p_job.type);
  RETURN p_status;
END $$;

CREATE FUNCTION duly.ready(p_now bigint, p_job duly.jobs, p_event text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
  RETURN duly.place(p_now, p_job, CASE WHEN p_job.status = 'RETRYING' THEN 'RETRYING' ELSE 'PENDING' END, true, p_event);
END $$;

-- Puts the due jobs of a serial key that nobody has promoted yet in line, but for one that comes just now. The key is locked.
CREATE FUNCTION duly.queue_serial(p_now bigint, p_tenant text, p_serial text, p_but text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  v_ref text := duly.serial_ref(p_tenant, p_serial);
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
    PERFORM duly.place(p_now, v_job, 'BLOCKED', false, 'gate-shut');
  END LOOP;
END $$;

-- Whether somebody in line for a place was due earlier, or at the same instant and made before.
CREATE FUNCTION duly.has_earlier(p_ref text, p_due bigint, p_seq bigint) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
  RETURN EXISTS (SELECT 1 FROM duly.gates WHERE ref = p_ref AND kind = 'serial' AND (order_at, seq) < (p_due, p_seq));
END $$;

-- Gives a free place to the first in line that is due.
CREATE FUNCTION duly.promote_serial_head(p_now bigint, p_ref text) RETURNS void LANGUAGE plpgsql AS $$
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
      PERFORM duly.ready(p_now, v_job, 'gate-open');
      RETURN;
    END IF;
    -- It was moved to later while it stood in line; the place is for whoever is due.
    PERFORM duly.place(p_now, v_job, 'SCHEDULED', false, 'gate-open');
  END LOOP;
END $$;

-- A due job whose other gates are open: takes its serial place if it has one, and is ready; or waits for the place.
CREATE FUNCTION duly.enter(p_now bigint, p_job duly.jobs, p_event text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  v_ref text;
  v_holder text;
BEGIN
  IF p_job.serial IS NULL OR p_job.status = 'RETRYING' THEN RETURN duly.ready(p_now, p_job, p_event); END IF;
  -- Without its lock nobody may take a place: who claims next puts it where it belongs.
  IF duly.in_user_transaction() THEN RETURN duly.place(p_now, p_job, 'SCHEDULED', false, p_event); END IF;
  v_ref := duly.serial_ref(p_job.tenant, p_job.serial);
  PERFORM duly.lock_serial(v_ref);
  SELECT job INTO v_holder FROM duly.places WHERE kind = 'serial' AND ref = v_ref;
  IF v_holder = p_job.id THEN RETURN duly.ready(p_now, p_job, p_event); END IF;
  PERFORM duly.queue_serial(p_now, p_job.tenant, p_job.serial, p_job.id);
  IF v_holder IS NULL AND NOT duly.has_earlier(v_ref, p_job.due_at, p_job.seq) THEN
    INSERT INTO duly.places (kind, ref, job) VALUES ('serial', v_ref, p_job.id);
    RETURN duly.ready(p_now, p_job, p_event);
  END IF;
  INSERT INTO duly.gates (kind, ref, order_at, seq, job) VALUES ('serial', v_ref, p_job.due_at, p_job.seq, p_job.id)
  ON CONFLICT DO NOTHING;
  PERFORM duly.place(p_now, p_job, 'BLOCKED', false, CASE p_event WHEN 'retried' THEN p_event ELSE 'gate-shut' END);
  IF v_holder IS NULL THEN PERFORM duly.promote_serial_head(p_now, v_ref); END IF;
  RETURN 'BLOCKED';
END $$;

-- Gives a serial place up, and to the next in line.
CREATE FUNCTION duly.leave_serial(p_now bigint, p_job duly.jobs) RETURNS void LANGUAGE plpgsql AS $$
DECLARE v_ref text;
BEGIN
  IF p_job.serial IS NULL THEN RETURN; END IF;
  v_ref := duly.serial_ref(p_job.tenant, p_job.serial);
  IF duly.in_user_transaction() THEN
    -- Noted, and given to the next by whoever claims after the commit. The next may have any type.
    INSERT INTO duly.left_places (tenant, serial, job) VALUES (p_job.tenant, p_job.serial, p_job.id);
    PERFORM duly.add_notification('j');
    RETURN;
  END IF;
  PERFORM duly.lock_serial(v_ref);
  DELETE FROM duly.places WHERE kind = 'serial' AND ref = v_ref AND job = p_job.id;
  IF NOT FOUND THEN RETURN; END IF;
  PERFORM duly.queue_serial(p_now, p_job.tenant, p_job.serial, p_job.id);
  PERFORM duly.promote_serial_head(p_now, v_ref);
END $$;

-- Gives the serial places that were left in users' transactions to the next in line. Passes over what others hold, so it never waits.
CREATE FUNCTION duly.tidy_places(p_now bigint) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  v_left duly.left_places;
  v_ref text;
BEGIN
  FOR v_left IN SELECT * FROM duly.left_places ORDER BY n LIMIT 1000 FOR UPDATE SKIP LOCKED LOOP
    v_ref := duly.serial_ref(v_left.tenant, v_left.serial);
    CONTINUE WHEN NOT duly.try_lock_serial(v_ref);
    DELETE FROM duly.left_places WHERE n = v_left.n;
    -- One that was put off or came back may have taken its own place again.
    CONTINUE WHEN EXISTS (SELECT 1 FROM duly.jobs WHERE id = v_left.job AND status IN ('PENDING', 'RUNNING', 'RETRYING'));
    DELETE FROM duly.places WHERE kind = 'serial' AND ref = v_ref AND job = v_left.job;
    CONTINUE WHEN NOT FOUND;
    PERFORM duly.queue_serial(p_now, v_left.tenant, v_left.serial, '');
    PERFORM duly.promote_serial_head(p_now, v_ref);
  END LOOP;
END $$;

-- One of a job's gates has opened. The row is locked before the others are looked at: of two that open at once, the second sees the first.
CREATE FUNCTION duly.gate_opened(p_now bigint, p_id text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE v_job duly.jobs;
BEGIN
  SELECT * INTO v_job FROM duly.jobs WHERE id = p_id;
  IF NOT FOUND THEN RETURN; END IF;
  IF v_job.serial IS NOT NULL THEN PERFORM duly.lock_serial(duly.serial_ref(v_job.tenant, v_job.serial)); END IF;
  SELECT * INTO v_job FROM duly.jobs WHERE id = p_id FOR NO KEY UPDATE;
  IF NOT FOUND OR v_job.status <> 'BLOCKED' THEN RETURN; END IF;
  IF EXISTS (SELECT 1 FROM duly.gates WHERE job = p_id) THEN RETURN; END IF;
  IF v_job.due_at > p_now THEN PERFORM duly.place(p_now, v_job, 'SCHEDULED', false, 'gate-open');
  ELSE PERFORM duly.enter(p_now, v_job, 'gate-open');
  END IF;
END $$;

-- A dedupe key after its holder's end: to the follow-up, kept for its time, or free.
CREATE FUNCTION duly.transfer_dedupe_key(p_now bigint, p_job duly.jobs, p_status text) RETURNS void LANGUAGE plpgsql AS $$
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
CREATE FUNCTION duly.set_free(p_now bigint, p_job duly.jobs, p_status text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  v_opened text[];
  v_one text;
BEGIN
  IF p_job.status = 'BLOCKED' THEN DELETE FROM duly.gates WHERE job = p_job.id; END IF;
  IF p_job.dedupe_key IS NOT NULL THEN PERFORM duly.transfer_dedupe_key(p_now, p_job, p_status); END IF;
  WITH gone AS (DELETE FROM duly.gates WHERE ref = p_job.id AND kind <> 'serial' RETURNING job, kind, order_at, seq)
  SELECT array_agg(job ORDER BY kind, order_at, seq) INTO v_opened FROM gone;
  FOREACH v_one IN ARRAY coalesce(v_opened, '{}') LOOP
    PERFORM duly.gate_opened(p_now, v_one);
  END LOOP;
  PERFORM duly.leave_serial(p_now, p_job);
  UPDATE duly.schedules SET due_at = p_now WHERE waits_for = p_job.id AND (due_at IS NULL OR due_at > p_now);
  IF FOUND THEN PERFORM duly.add_notification('s'); END IF;
END $$;

-- Ends a live job: moves it to history and sets free everything that waited for it. `p_job` is what job_state returned.
CREATE FUNCTION duly.finish(
  p_now bigint, p_job duly.jobs, p_status text, p_reason text,
  p_result text DEFAULT NULL, p_error text DEFAULT NULL, p_progress jsonb DEFAULT NULL,
  p_cancelled_by text DEFAULT NULL, p_event text DEFAULT NULL
) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  v_completed boolean := p_status = 'COMPLETED';
  v_over duly.finished;
BEGIN
  {{job.kept | v_over.%column := p_job.%column; |}}
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
    v_over.attempts := duly.add_attempt(p_job.attempts, json_build_object('n', p_job.attempt, 'node', coalesce(p_job.node, ''),
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
  PERFORM duly.changed(p_now, p_job.id, p_job.type, p_status, coalesce(p_event, CASE p_status
    WHEN 'COMPLETED' THEN 'returned' WHEN 'FAILED' THEN 'failed' WHEN 'CANCELLED' THEN 'cancelled' ELSE 'expired' END),
    v_over.percent);
  PERFORM duly.set_free(p_now, p_job, p_status);
END $$;

-- Moves due jobs of these types, so many of each, to where a claim finds them. Passes over what others hold, so it never waits.
CREATE FUNCTION duly.promote(
  p_now bigint, p_types text[], p_limit integer, OUT moved integer, OUT is_all boolean, p_from bigint DEFAULT -9223372036854775808)
LANGUAGE plpgsql AS $$
DECLARE
  v_ids text[];
  v_id text;
  v_serials integer;
  v_job duly.jobs;
  v_notifications text;
BEGIN
  IF EXISTS (SELECT 1 FROM duly.left_places) THEN PERFORM duly.tidy_places(p_now); END IF;
  v_notifications := duly.notifications();
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
    IF v_job.serial IS NOT NULL AND NOT duly.try_lock_serial(duly.serial_ref(v_job.tenant, v_job.serial)) THEN
      is_all := false;
      CONTINUE;
    END IF;
    -- An earlier one of this list may have put it in line, or seated it, with the others of its serial key.
    SELECT * INTO v_job FROM duly.jobs
    WHERE id = v_id AND coalesce(rank IS NULL AND status IN ('SCHEDULED', 'RETRYING') AND due_at <= p_now, false) FOR UPDATE SKIP LOCKED;
    IF FOUND THEN PERFORM duly.enter(p_now, v_job, 'due'); END IF;
  END LOOP;
  -- Every node knows the next due instant and wakes by itself: no notification for what was to be expected.
  PERFORM set_config('duly_work.notifications', v_notifications, true);
END $$;

-- Ends jobs whose start deadline has passed before their first start. Passes over what others hold, so it never waits.
CREATE FUNCTION duly.expire_overdue(p_now bigint, p_limit integer) RETURNS integer LANGUAGE plpgsql AS $$
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
    CONTINUE WHEN v_job.serial IS NOT NULL AND NOT duly.try_lock_serial(duly.serial_ref(v_job.tenant, v_job.serial));
    -- Those who wait for it will want their serial places.
    CONTINUE WHEN EXISTS (
      SELECT 1 FROM duly.gates g JOIN duly.jobs w ON w.id = ANY (ARRAY[g.job])
      WHERE g.ref = v_id AND g.kind <> 'serial' AND w.serial IS NOT NULL
        AND NOT duly.try_lock_serial(duly.serial_ref(w.tenant, w.serial)));
    -- The end of an earlier one in this very list may have opened or ended it.
    SELECT * INTO v_job FROM duly.jobs
    WHERE id = v_id AND coalesce(expire_at < p_now AND started_at IS NULL, false) FOR UPDATE SKIP LOCKED;
    CONTINUE WHEN NOT FOUND;
    PERFORM duly.finish(p_now, v_job, 'EXPIRED', 'start-deadline');
  END LOOP;
  RETURN coalesce(cardinality(v_ids), 0);
END $$;

-- Where a job stands, live or over: status and due instant. Nothing: not there.
CREATE FUNCTION duly.find_brief(p_id text, OUT type text, OUT status text, OUT due_at bigint) LANGUAGE plpgsql AS $$
BEGIN
  SELECT j.type, j.status, j.due_at INTO type, status, due_at FROM duly.jobs j WHERE j.id = p_id;
  IF FOUND THEN RETURN; END IF;
  SELECT j.type, j.status, j.due_at INTO type, status, due_at FROM duly.dead j WHERE j.id = p_id;
  IF FOUND THEN RETURN; END IF;
  SELECT j.type, j.status, j.due_at INTO type, status, due_at FROM duly.finished j WHERE j.id = p_id ORDER BY j.seq DESC LIMIT 1;
END $$;

-- Moves a waiting job to another instant; answers its status afterwards. `p_job` is what job_state returned.
CREATE FUNCTION duly.move_due(p_now bigint, p_job duly.jobs, p_due bigint, p_event text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE v_moved duly.jobs := p_job;
BEGIN
  v_moved.due_at := p_due;
  IF p_job.status = 'BLOCKED' THEN
    IF p_job.serial IS NOT NULL THEN UPDATE duly.gates SET order_at = p_due WHERE job = p_job.id AND kind = 'serial'; END IF;
    RETURN duly.place(p_now, v_moved, 'BLOCKED', false, p_event);
  END IF;
  IF p_job.status = 'RETRYING' THEN RETURN duly.place(p_now, v_moved, 'RETRYING', p_due <= p_now, p_event); END IF;
  IF p_due <= p_now THEN RETURN duly.enter(p_now, v_moved, p_event); END IF;
  -- Until it is due again it does not compete for its serial place.
  PERFORM duly.leave_serial(p_now, p_job);
  RETURN duly.place(p_now, v_moved, 'SCHEDULED', false, p_event);
END $$;

-- Adds one attempt to a JSON list of them and keeps the newest 50: a job that is put off for years must not grow without bound.
CREATE FUNCTION duly.add_attempt(p_attempts text, p_entry json) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  v_all text := CASE WHEN p_attempts = '[]' THEN '[' || p_entry::text || ']' ELSE left(p_attempts, -1) || ',' || p_entry::text || ']' END;
  v_count integer := json_array_length(v_all::json);
BEGIN
  IF v_count <= 50 THEN RETURN v_all; END IF;
  RETURN (SELECT '[' || string_agg(e::text, ',' ORDER BY i) || ']'
    FROM json_array_elements(v_all::json) WITH ORDINALITY AS a (e, i) WHERE i > v_count - 50);
END $$;

CREATE FUNCTION duly.append_logs(p_id text, p_attempt integer, p_lines jsonb, p_limit bigint) RETURNS void LANGUAGE plpgsql AS $$
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

CREATE FUNCTION duly.changed_item(p_id text, p_result text, p_status text, p_due bigint) RETURNS json LANGUAGE sql AS $$
  SELECT json_build_object('id', p_id, 'result', p_result, 'status', p_status, 'dueAt', p_due)
$$;

CREATE FUNCTION duly.audit_job(p_now bigint, p_actor text, p_note text, p_action text, p_job duly.jobs, p_after json)
RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  PERFORM duly.audit(p_now, p_actor, p_action, 'job:' || p_job.id,
    json_build_object('status', p_job.status, 'dueAt', p_job.due_at), p_after, p_note);
END $$;

-- The id of the job that holds a dedupe key at this instant. Once its holder's time is over, the follow-up behind that one does.
CREATE FUNCTION duly.holder(p_now bigint, p_type text, p_tenant text, p_key text) RETURNS text LANGUAGE sql STABLE AS $$
  SELECT CASE WHEN until_at <= p_now THEN follow_id ELSE job_id END FROM duly.dedupes
  WHERE type = p_type AND tenant = coalesce(p_tenant, '') AND key = p_key
    AND (until_at IS NULL OR until_at > p_now OR (follow_id IS NOT NULL AND (follow_until IS NULL OR follow_until > p_now)))
$$;

-- Cancels one live job. `p_job` is what job_state returned.
CREATE FUNCTION duly.cancel_job(p_now bigint, p_job duly.jobs, p_mode text, p_actor text, p_note text) RETURNS json LANGUAGE plpgsql AS $$
DECLARE v_job duly.jobs := p_job;
BEGIN
  IF p_job.status = 'RUNNING' AND p_mode = 'ask' THEN
    IF p_job.cancel_requested_at IS NOT NULL THEN RETURN duly.changed_item(p_job.id, 'unchanged', p_job.status, p_job.due_at); END IF;
    UPDATE duly.jobs SET cancel_requested_at = p_now, cancelled_by = coalesce(cancelled_by, p_actor), updated_at = p_now WHERE id = p_job.id;
    UPDATE duly.leases SET cancel_at = p_now WHERE id = p_job.id;
    PERFORM duly.audit_job(p_now, p_actor, p_note, 'cancel', p_job,
      json_build_object('status', p_job.status, 'cancelRequestedAt', p_now));
    PERFORM duly.changed(p_now, p_job.id, p_job.type, p_job.status, 'cancel-asked', p_job.percent);
    PERFORM duly.add_notification('c');
    RETURN duly.changed_item(p_job.id, 'asked', p_job.status, p_job.due_at);
  END IF;
  PERFORM duly.audit_job(p_now, p_actor, p_note, CASE p_mode WHEN 'ask' THEN 'cancel' ELSE 'terminate' END, p_job,
    json_build_object('status', 'CANCELLED'));
  -- A running attempt must not be able to settle any more.
  IF p_job.status = 'RUNNING' THEN v_job.fence := nextval('duly.fence'); END IF;
  PERFORM duly.finish(p_now, v_job, 'CANCELLED', 'cancelled', p_cancelled_by => p_actor);
  IF p_job.status = 'RUNNING' THEN PERFORM duly.add_notification('c'); END IF;
  RETURN duly.changed_item(p_job.id, 'changed', 'CANCELLED', p_job.due_at);
END $$;

-- What there is to say of a target that is not live: over, or missing.
CREATE FUNCTION duly.not_live(p_id text) RETURNS json LANGUAGE plpgsql AS $$
DECLARE v_brief record := duly.find_brief(p_id);
BEGIN
  IF v_brief.status IS NULL THEN RETURN duly.changed_item(p_id, 'missing', NULL, NULL); END IF;
  RETURN duly.changed_item(p_id, 'refused', v_brief.status, v_brief.due_at);
END $$;

-- A history row, taken out of where it is. Of two who want it one gets it. Null: not there.
CREATE FUNCTION duly.take_history(p_id text) RETURNS duly.finished LANGUAGE plpgsql AS $$
DECLARE v_over duly.finished;
BEGIN
  DELETE FROM duly.dead WHERE id = p_id RETURNING * INTO v_over;
  IF FOUND THEN RETURN v_over; END IF;
  DELETE FROM duly.finished WHERE id = p_id RETURNING * INTO v_over;
  RETURN v_over;
END $$;

-- Removes what is kept beside jobs.
CREATE FUNCTION duly.forget(p_ids text[]) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  DELETE FROM duly.logs WHERE job_id = ANY (p_ids);
  DELETE FROM duly.children WHERE parent_id = ANY (p_ids);
  DELETE FROM duly.journal WHERE scope = ANY (ARRAY(SELECT 'job:' || i FROM unnest(p_ids) i));
END $$;
