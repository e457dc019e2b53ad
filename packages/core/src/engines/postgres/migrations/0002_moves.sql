-- The moves of a job's life that several verbs share: becoming ready, waiting behind a gate, and ending, with everything
-- that an end sets free. Names end in a number: a later release that changes a function makes a new one, and the old
-- release goes on with its own.
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
-- The functions run with the settings of 0015_plans, and a test holds all of them to it (postgres/plans.test.ts).

CREATE FUNCTION duly.now_1(p_now bigint) RETURNS bigint LANGUAGE sql STABLE AS $$
  -- Not clock_timestamp(): one value for the whole call, and an index range may depend on it.
  SELECT coalesce(p_now, floor(extract(epoch FROM statement_timestamp()) * 1000)::bigint)
$$;

-- Hints are collected for the length of the call, one letter each: jobs, cancel, schedules, locks.
CREATE FUNCTION duly.hint_1(p_hint text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE v_hints text := coalesce(current_setting('duly_work.hints', true), '');
BEGIN
  IF strpos(v_hints, p_hint) = 0 THEN PERFORM set_config('duly_work.hints', v_hints || p_hint, true); END IF;
END $$;

CREATE FUNCTION duly.unhint_1(p_hint text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  PERFORM set_config('duly_work.hints', replace(coalesce(current_setting('duly_work.hints', true), ''), p_hint, ''), true);
END $$;

CREATE FUNCTION duly.hints_1() RETURNS text LANGUAGE sql AS $$
  SELECT coalesce(current_setting('duly_work.hints', true), '')
$$;

-- Begins a call: no hints yet, and the instant that rules it.
CREATE FUNCTION duly.begin_1(p_now bigint) RETURNS bigint LANGUAGE plpgsql AS $$
BEGIN
  PERFORM set_config('duly_work.hints', '', true);
  RETURN duly.now_1(p_now);
END $$;

-- Makes this call wait, as every write does, until a synchronous standby has all that was seen here. A commit that was on its way to the standby
-- when its session or the server ended is seen by others though the standby may never get it; an answer that rests on it and writes nothing
-- itself would confirm what a failover loses.
CREATE FUNCTION duly.confirm_1() RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_logical_emit_message(true, 'duly', '');
END $$;

-- Notes a change for the feed.
CREATE FUNCTION duly.changed_1(p_now bigint, p_id text, p_type text, p_status text, p_event text, p_percent double precision)
RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO duly.changes (at, n, entries)
  VALUES (p_now, 1, json_build_array(json_build_array(p_id), p_type, p_status, p_event, p_percent)::text);
END $$;

-- Writes who did what to a promise already made.
CREATE FUNCTION duly.audit_1(p_now bigint, p_actor text, p_action text, p_subject text, p_before json, p_after json, p_note text)
RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO duly.audit (at, actor, action, subject, before, after, note)
  VALUES (p_now, p_actor, p_action, p_subject, p_before::text, p_after::text, p_note);
END $$;

-- The name of a serial place: keys are per tenant, and any text may be a key.
CREATE FUNCTION duly.serial_ref_1(p_tenant text, p_serial text) RETURNS text LANGUAGE sql IMMUTABLE AS $$
  SELECT '[' || coalesce(to_json(p_tenant)::text, 'null') || ',' || to_json(p_serial)::text || ']'
$$;

-- Serial keys share 512 locks: one lock per key would let a single call fill the server's lock table.
CREATE FUNCTION duly.serial_lock_1(p_ref text) RETURNS integer LANGUAGE sql IMMUTABLE AS $$
  SELECT hashtext(p_ref) & 511
$$;

-- Whether this is a settlement in a transaction of the user's own, which must hold nothing until they commit that others want too.
CREATE FUNCTION duly.is_within_1() RETURNS boolean LANGUAGE sql STABLE AS $$
  SELECT coalesce(current_setting('duly_work.within', true), '') = '1'
$$;

CREATE FUNCTION duly.lock_serial_1(p_ref text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  IF duly.is_within_1() THEN RETURN; END IF;
  PERFORM pg_advisory_xact_lock(hashtext('duly.serial'), duly.serial_lock_1(p_ref));
END $$;

CREATE FUNCTION duly.try_lock_serial_1(p_ref text) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
  RETURN pg_try_advisory_xact_lock(hashtext('duly.serial'), duly.serial_lock_1(p_ref));
END $$;

-- Takes the locks of these serial keys in one order, before any row is locked: two calls with the same keys cannot wait for each other.
CREATE FUNCTION duly.lock_serials_1(p_refs text[]) RETURNS void LANGUAGE plpgsql AS $$
DECLARE v_lock integer;
BEGIN
  IF duly.is_within_1() THEN RETURN; END IF;
  FOR v_lock IN SELECT DISTINCT duly.serial_lock_1(r) FROM unnest(p_refs) r ORDER BY 1 LOOP
    PERFORM pg_advisory_xact_lock(hashtext('duly.serial'), v_lock);
  END LOOP;
END $$;

-- Locks what the end or the move of these jobs may touch before their rows: their dedupe keys, then the serial keys of them and of those who wait
-- for them.
CREATE FUNCTION duly.lock_around_1(p_ids text[]) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  PERFORM 1 FROM duly.jobs j JOIN duly.dedupes d
    ON d.type = ANY (ARRAY[j.type]) AND d.tenant = coalesce(j.tenant, '') AND d.key = j.dedupe_key
  WHERE j.id = ANY (p_ids) AND j.dedupe_key IS NOT NULL ORDER BY j.type, coalesce(j.tenant, ''), j.dedupe_key FOR UPDATE OF d;
  PERFORM duly.lock_serials_1(ARRAY(
    SELECT duly.serial_ref_1(j.tenant, j.serial) FROM duly.jobs j WHERE j.id = ANY (p_ids) AND j.serial IS NOT NULL
    UNION SELECT duly.serial_ref_1(w.tenant, w.serial) FROM duly.gates g JOIN duly.jobs w ON w.id = ANY (ARRAY[g.job])
    WHERE g.ref = ANY (p_ids) AND g.kind <> 'serial' AND w.serial IS NOT NULL));
END $$;

-- A live job, locked with all that its end would touch, as it stands: while it runs its lease knows better. Null: not live.
CREATE FUNCTION duly.life_1(p_id text) RETURNS duly.jobs LANGUAGE plpgsql AS $$
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
  IF v_serial IS NOT NULL THEN PERFORM duly.lock_serial_1(duly.serial_ref_1(v_tenant, v_serial)); END IF;
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
CREATE FUNCTION duly.place_1(p_now bigint, p_job duly.jobs, p_status text, p_ready boolean, p_event text)
RETURNS text LANGUAGE plpgsql AS $$
BEGIN
  UPDATE duly.jobs SET
    status = p_status, rank = CASE WHEN p_ready THEN p_job.due_at + rank_offset END,
    expire_at = expire_at + (p_job.due_at - due_at), due_at = p_job.due_at, updated_at = p_now
  WHERE id = p_job.id;
  PERFORM duly.changed_1(p_now, p_job.id, p_job.type, p_status, p_event, p_job.percent);
  -- Not ready means due later: a sleeping node must learn of an earlier instant as well.
  PERFORM duly.hint_1('j');
  RETURN p_status;
END $$;

CREATE FUNCTION duly.ready_1(p_now bigint, p_job duly.jobs, p_event text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
  RETURN duly.place_1(p_now, p_job, CASE WHEN p_job.status = 'RETRYING' THEN 'RETRYING' ELSE 'PENDING' END, true, p_event);
END $$;

-- Puts the due jobs of a serial key that nobody has promoted yet in line, but for one that comes just now. The key is locked.
CREATE FUNCTION duly.line_up_1(p_now bigint, p_tenant text, p_serial text, p_but text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  v_ref text := duly.serial_ref_1(p_tenant, p_serial);
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
    PERFORM duly.place_1(p_now, v_job, 'BLOCKED', false, 'gate-shut');
  END LOOP;
END $$;

-- Whether somebody in line for a place was due earlier, or at the same instant and made before.
CREATE FUNCTION duly.has_earlier_1(p_ref text, p_due bigint, p_seq bigint) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
  RETURN EXISTS (SELECT 1 FROM duly.gates WHERE ref = p_ref AND kind = 'serial' AND (order_at, seq) < (p_due, p_seq));
END $$;

-- Gives a free place to the first in line that is due.
CREATE FUNCTION duly.seat_next_1(p_now bigint, p_ref text) RETURNS void LANGUAGE plpgsql AS $$
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
      PERFORM duly.ready_1(p_now, v_job, 'gate-open');
      RETURN;
    END IF;
    -- It was moved to later while it stood in line; the place is for whoever is due.
    PERFORM duly.place_1(p_now, v_job, 'SCHEDULED', false, 'gate-open');
  END LOOP;
END $$;

-- A due job whose other gates are open: takes its serial place if it has one, and is ready; or waits for the place.
CREATE FUNCTION duly.enter_1(p_now bigint, p_job duly.jobs, p_event text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  v_ref text;
  v_holder text;
BEGIN
  IF p_job.serial IS NULL OR p_job.status = 'RETRYING' THEN RETURN duly.ready_1(p_now, p_job, p_event); END IF;
  -- Without its lock nobody may take a place: who claims next puts it where it belongs.
  IF duly.is_within_1() THEN RETURN duly.place_1(p_now, p_job, 'SCHEDULED', false, p_event); END IF;
  v_ref := duly.serial_ref_1(p_job.tenant, p_job.serial);
  PERFORM duly.lock_serial_1(v_ref);
  SELECT job INTO v_holder FROM duly.places WHERE kind = 'serial' AND ref = v_ref;
  IF v_holder = p_job.id THEN RETURN duly.ready_1(p_now, p_job, p_event); END IF;
  PERFORM duly.line_up_1(p_now, p_job.tenant, p_job.serial, p_job.id);
  IF v_holder IS NULL AND NOT duly.has_earlier_1(v_ref, p_job.due_at, p_job.seq) THEN
    INSERT INTO duly.places (kind, ref, job) VALUES ('serial', v_ref, p_job.id);
    RETURN duly.ready_1(p_now, p_job, p_event);
  END IF;
  INSERT INTO duly.gates (kind, ref, order_at, seq, job) VALUES ('serial', v_ref, p_job.due_at, p_job.seq, p_job.id)
  ON CONFLICT DO NOTHING;
  PERFORM duly.place_1(p_now, p_job, 'BLOCKED', false, CASE p_event WHEN 'replayed' THEN p_event ELSE 'gate-shut' END);
  IF v_holder IS NULL THEN PERFORM duly.seat_next_1(p_now, v_ref); END IF;
  RETURN 'BLOCKED';
END $$;

-- Gives a serial place up, and to the next in line.
CREATE FUNCTION duly.leave_serial_1(p_now bigint, p_job duly.jobs) RETURNS void LANGUAGE plpgsql AS $$
DECLARE v_ref text;
BEGIN
  IF p_job.serial IS NULL THEN RETURN; END IF;
  v_ref := duly.serial_ref_1(p_job.tenant, p_job.serial);
  IF duly.is_within_1() THEN
    -- Noted, and given to the next by whoever claims after the commit.
    INSERT INTO duly.left_places (tenant, serial, job) VALUES (p_job.tenant, p_job.serial, p_job.id);
    PERFORM duly.hint_1('j');
    RETURN;
  END IF;
  PERFORM duly.lock_serial_1(v_ref);
  DELETE FROM duly.places WHERE kind = 'serial' AND ref = v_ref AND job = p_job.id;
  IF NOT FOUND THEN RETURN; END IF;
  PERFORM duly.line_up_1(p_now, p_job.tenant, p_job.serial, p_job.id);
  PERFORM duly.seat_next_1(p_now, v_ref);
END $$;

-- Gives the serial places that were left in users' transactions to the next in line. Passes over what others hold, so it never waits.
CREATE FUNCTION duly.tidy_places_1(p_now bigint) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  v_left duly.left_places;
  v_ref text;
BEGIN
  FOR v_left IN SELECT * FROM duly.left_places ORDER BY n LIMIT 1000 FOR UPDATE SKIP LOCKED LOOP
    v_ref := duly.serial_ref_1(v_left.tenant, v_left.serial);
    CONTINUE WHEN NOT duly.try_lock_serial_1(v_ref);
    DELETE FROM duly.left_places WHERE n = v_left.n;
    -- One that was put off or came back may have taken its own place again.
    CONTINUE WHEN EXISTS (SELECT 1 FROM duly.jobs WHERE id = v_left.job AND status IN ('PENDING', 'RUNNING', 'RETRYING'));
    DELETE FROM duly.places WHERE kind = 'serial' AND ref = v_ref AND job = v_left.job;
    CONTINUE WHEN NOT FOUND;
    PERFORM duly.line_up_1(p_now, v_left.tenant, v_left.serial, '');
    PERFORM duly.seat_next_1(p_now, v_ref);
  END LOOP;
END $$;

-- One of a job's gates has opened. The row is locked before the others are looked at: of two that open at once, the second sees the first.
CREATE FUNCTION duly.gate_opened_1(p_now bigint, p_id text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE v_job duly.jobs;
BEGIN
  SELECT * INTO v_job FROM duly.jobs WHERE id = p_id;
  IF NOT FOUND THEN RETURN; END IF;
  IF v_job.serial IS NOT NULL THEN PERFORM duly.lock_serial_1(duly.serial_ref_1(v_job.tenant, v_job.serial)); END IF;
  SELECT * INTO v_job FROM duly.jobs WHERE id = p_id FOR NO KEY UPDATE;
  IF NOT FOUND OR v_job.status <> 'BLOCKED' THEN RETURN; END IF;
  IF EXISTS (SELECT 1 FROM duly.gates WHERE job = p_id) THEN RETURN; END IF;
  IF v_job.due_at > p_now THEN PERFORM duly.place_1(p_now, v_job, 'SCHEDULED', false, 'gate-open');
  ELSE PERFORM duly.enter_1(p_now, v_job, 'gate-open');
  END IF;
END $$;

-- A dedupe key after its holder's end: to the follow-up, kept for its time, or free.
CREATE FUNCTION duly.pass_key_on_1(p_now bigint, p_job duly.jobs, p_status text) RETURNS void LANGUAGE plpgsql AS $$
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
CREATE FUNCTION duly.set_free_1(p_now bigint, p_job duly.jobs, p_status text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  v_opened text[];
  v_one text;
BEGIN
  IF p_job.status = 'BLOCKED' THEN DELETE FROM duly.gates WHERE job = p_job.id; END IF;
  IF p_job.dedupe_key IS NOT NULL THEN PERFORM duly.pass_key_on_1(p_now, p_job, p_status); END IF;
  WITH gone AS (DELETE FROM duly.gates WHERE ref = p_job.id AND kind <> 'serial' RETURNING job, kind, order_at, seq)
  SELECT array_agg(job ORDER BY kind, order_at, seq) INTO v_opened FROM gone;
  FOREACH v_one IN ARRAY coalesce(v_opened, '{}') LOOP
    PERFORM duly.gate_opened_1(p_now, v_one);
  END LOOP;
  PERFORM duly.leave_serial_1(p_now, p_job);
  UPDATE duly.schedules SET due_at = p_now WHERE waits_for = p_job.id AND (due_at IS NULL OR due_at > p_now);
  IF FOUND THEN PERFORM duly.hint_1('s'); END IF;
END $$;

-- Ends a live job: moves it to history and sets free everything that waited for it. `p_job` is what life_1 gave.
CREATE FUNCTION duly.finish_1(
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
    v_over.attempts := duly.add_attempt_1(p_job.attempts, json_build_object('n', p_job.attempt, 'node', coalesce(p_job.node, ''),
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
  PERFORM duly.changed_1(p_now, p_job.id, p_job.type, p_status, coalesce(p_event, CASE p_status
    WHEN 'COMPLETED' THEN 'returned' WHEN 'FAILED' THEN 'failed' WHEN 'CANCELLED' THEN 'cancelled' ELSE 'expired' END),
    v_over.percent);
  PERFORM duly.set_free_1(p_now, p_job, p_status);
END $$;

-- Moves due jobs of these types, so many of each, to where a claim finds them. Passes over what others hold, so it never waits.
CREATE FUNCTION duly.promote_1(
  p_now bigint, p_types text[], p_limit integer, OUT moved integer, OUT is_all boolean, p_from bigint DEFAULT -9223372036854775808)
LANGUAGE plpgsql AS $$
DECLARE
  v_ids text[];
  v_id text;
  v_serials integer;
  v_job duly.jobs;
  v_hints text;
BEGIN
  IF EXISTS (SELECT 1 FROM duly.left_places) THEN PERFORM duly.tidy_places_1(p_now); END IF;
  v_hints := duly.hints_1();
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
    IF v_job.serial IS NOT NULL AND NOT duly.try_lock_serial_1(duly.serial_ref_1(v_job.tenant, v_job.serial)) THEN
      is_all := false;
      CONTINUE;
    END IF;
    -- An earlier one of this list may have put it in line, or seated it, with the others of its serial key.
    SELECT * INTO v_job FROM duly.jobs
    WHERE id = v_id AND coalesce(rank IS NULL AND status IN ('SCHEDULED', 'RETRYING') AND due_at <= p_now, false) FOR UPDATE SKIP LOCKED;
    IF FOUND THEN PERFORM duly.enter_1(p_now, v_job, 'due'); END IF;
  END LOOP;
  -- Every node knows the next due instant and wakes by itself: no hint for what was to be expected.
  IF strpos(v_hints, 'j') = 0 THEN PERFORM duly.unhint_1('j'); END IF;
END $$;

-- Ends jobs whose start deadline has passed before their first start. Passes over what others hold, so it never waits.
CREATE FUNCTION duly.expire_overdue_1(p_now bigint, p_limit integer) RETURNS integer LANGUAGE plpgsql AS $$
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
    CONTINUE WHEN v_job.serial IS NOT NULL AND NOT duly.try_lock_serial_1(duly.serial_ref_1(v_job.tenant, v_job.serial));
    -- Those who wait for it will want their serial places.
    CONTINUE WHEN EXISTS (
      SELECT 1 FROM duly.gates g JOIN duly.jobs w ON w.id = ANY (ARRAY[g.job])
      WHERE g.ref = v_id AND g.kind <> 'serial' AND w.serial IS NOT NULL
        AND NOT duly.try_lock_serial_1(duly.serial_ref_1(w.tenant, w.serial)));
    -- The end of an earlier one in this very list may have opened or ended it.
    SELECT * INTO v_job FROM duly.jobs
    WHERE id = v_id AND coalesce(expire_at < p_now AND started_at IS NULL, false) FOR UPDATE SKIP LOCKED;
    CONTINUE WHEN NOT FOUND;
    PERFORM duly.finish_1(p_now, v_job, 'EXPIRED', 'start-deadline');
  END LOOP;
  RETURN coalesce(cardinality(v_ids), 0);
END $$;
