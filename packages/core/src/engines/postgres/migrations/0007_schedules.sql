-- Schedules: compare-and-set, claims, decisions.

-- Whether the runs that are to be told something still wait, and so will hear it. Locks them: a claim that comes now passes them over.
CREATE FUNCTION duly.all_wait_1(p_told jsonb) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE v_id text;
BEGIN
  FOR v_id IN SELECT t ->> 'id' FROM jsonb_array_elements(coalesce(p_told, '[]')) t ORDER BY 1 LOOP
    PERFORM 1 FROM duly.jobs WHERE id = v_id AND status IN ('SCHEDULED', 'PENDING', 'BLOCKED') FOR UPDATE;
    IF NOT FOUND THEN RETURN false; END IF;
  END LOOP;
  RETURN true;
END $$;

-- Gives runs that wait behind others their new details.
CREATE FUNCTION duly.tell_1(p_told jsonb) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  UPDATE duly.jobs j SET slot_details = t.details
  FROM jsonb_to_recordset(coalesce(p_told, '[]')) AS t (id text, details text) WHERE j.id = t.id AND j.slot IS NOT NULL;
END $$;

-- Whether a schedule would wait for a job that is over already. The shared lock makes the job's end wait for us; it then finds the schedule.
CREATE FUNCTION duly.is_over_1(p_waits_for text) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
  IF p_waits_for IS NULL THEN RETURN false; END IF;
  PERFORM 1 FROM duly.jobs WHERE id = p_waits_for FOR KEY SHARE;
  RETURN NOT FOUND;
END $$;

-- Writes a ledger row, or lengthens the newest one when the decision is the same and no job stands between.
CREATE FUNCTION duly.add_slot_1(p_now bigint, p_schedule text, p_generation integer, p_slot jsonb) RETURNS void LANGUAGE plpgsql AS $$
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
CREATE FUNCTION duly.end_others_1(p_now bigint, p_others jsonb, p_actor text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  v_one jsonb;
  v_job duly.jobs;
BEGIN
  FOR v_one IN SELECT * FROM jsonb_array_elements(coalesce(p_others, '[]')) LOOP
    v_job := duly.life_1(v_one ->> 'id');
    IF v_job.id IS NOT NULL THEN PERFORM duly.cancel_job_1(p_now, v_job, v_one ->> 'mode', p_actor, 'overlap policy'); END IF;
  END LOOP;
END $$;

CREATE FUNCTION duly.schedule_audit_1(s duly.schedules) RETURNS json LANGUAGE plpgsql AS $$
BEGIN
  RETURN json_build_object('version', s.version, 'spec', s.spec::json, 'dueAt', s.due_at);
END $$;

CREATE FUNCTION duly.apply_schedule_1(p_now bigint, p_actor text, p_change jsonb) RETURNS json LANGUAGE plpgsql AS $$
DECLARE
  v_id text := p_change ->> 'id';
  v_expect bigint := (p_change ->> 'expectVersion')::bigint;
  v_before duly.schedules;
  v_after duly.schedules;
  v_generation integer;
  v_due bigint;
  v_one jsonb;
  v_job duly.jobs;
  v_run text;
BEGIN
  SELECT * INTO v_before FROM duly.schedules WHERE id = v_id FOR UPDATE;
  IF v_before.version IS DISTINCT FROM v_expect THEN
    PERFORM duly.refuse_1('records_conflict',
      format('Schedule "%s" is at version %s, not %s.', v_id, coalesce(v_before.version::text, 'none'), coalesce(v_expect::text, 'none')),
      'Someone changed it meanwhile. Read it again and repeat the change.',
      json_build_object('id', v_id, 'version', v_before.version));
  END IF;
  IF p_change ->> 'op' = 'put' AND NOT duly.all_wait_1(p_change -> 'tell') THEN
    PERFORM duly.refuse_1('records_conflict',
      format('A run of schedule "%s" that was to be told what is merged into it no longer waits.', v_id),
      'Read the schedule again and repeat the change.', json_build_object('id', v_id, 'version', v_before.version));
  END IF;
  PERFORM duly.hint_1('s');
  IF p_change ->> 'op' = 'delete' THEN
    FOR v_run IN SELECT id FROM duly.jobs WHERE schedule_id = v_id AND started_at IS NULL ORDER BY seq LOOP
      v_job := duly.life_1(v_run);
      IF v_job.id IS NOT NULL THEN
        PERFORM duly.cancel_job_1(p_now, v_job, 'ask', p_actor, 'schedule ' || (p_change ->> 'action'));
      END IF;
    END LOOP;
    FOR v_one IN SELECT * FROM jsonb_array_elements(p_change -> 'slots') LOOP
      PERFORM duly.add_slot_1(p_now, v_id, v_before.generation, v_one);
    END LOOP;
    DELETE FROM duly.schedules WHERE id = v_id;
    -- All of it: the ledger stays, and whoever reads it must know what it is the ledger of.
    PERFORM duly.audit_1(p_now, p_actor, p_change ->> 'action', 'schedule:' || v_id, json_build_object('version', v_before.version,
      'spec', v_before.spec::json, 'dueAt', v_before.due_at, 'app', v_before.app, 'tenant', v_before.tenant, 'name', v_before.name,
      'generation', v_before.generation, 'state', v_before.state::json), NULL, p_change ->> 'note');
    RETURN json_build_object('id', v_id, 'version', v_before.version, 'generation', v_before.generation);
  END IF;
  v_due := CASE WHEN duly.is_over_1(p_change ->> 'waitsFor') THEN p_now ELSE (p_change ->> 'dueAt')::bigint END;
  IF v_before.id IS NULL THEN
    INSERT INTO duly.generations AS g (id, generation) VALUES (v_id, 1)
    ON CONFLICT (id) DO UPDATE SET generation = g.generation + 1 RETURNING generation INTO v_generation;
    INSERT INTO duly.schedules (id, app, tenant, name, generation, version, spec, state, due_at, waits_for, created_at, updated_at)
    VALUES (v_id, p_change ->> 'app', p_change ->> 'tenant', p_change ->> 'name', v_generation, 1, p_change ->> 'spec',
      p_change ->> 'state', v_due, p_change ->> 'waitsFor', p_now, p_now)
    ON CONFLICT (id) DO NOTHING;
    IF NOT FOUND THEN
      PERFORM duly.refuse_1('records_conflict', format('Schedule "%s" is there already.', v_id),
        'Someone made it meanwhile. Read it and repeat the change.', json_build_object('id', v_id));
    END IF;
  ELSE
    v_generation := v_before.generation;
    -- A new version ends the lease of whoever is deciding by the old one.
    UPDATE duly.schedules SET app = p_change ->> 'app', tenant = p_change ->> 'tenant', name = p_change ->> 'name',
      version = version + 1, spec = p_change ->> 'spec', state = p_change ->> 'state', due_at = v_due,
      waits_for = p_change ->> 'waitsFor', updated_at = p_now, lease_until = NULL, token = NULL, node = NULL
    WHERE id = v_id;
  END IF;
  PERFORM duly.end_others_1(p_now, p_change -> 'cancel', p_actor);
  FOR v_one IN SELECT * FROM jsonb_array_elements(p_change -> 'jobs') LOOP PERFORM duly.make_job_1(p_now, v_one, false); END LOOP;
  FOR v_one IN SELECT * FROM jsonb_array_elements(p_change -> 'slots') LOOP
    PERFORM duly.add_slot_1(p_now, v_id, v_generation, v_one);
  END LOOP;
  PERFORM duly.tell_1(p_change -> 'tell');
  SELECT * INTO v_after FROM duly.schedules WHERE id = v_id;
  PERFORM duly.audit_1(p_now, p_actor, p_change ->> 'action', 'schedule:' || v_id,
    CASE WHEN v_before.id IS NOT NULL THEN duly.schedule_audit_1(v_before) END, duly.schedule_audit_1(v_after), p_change ->> 'note');
  RETURN json_build_object('id', v_id, 'version', v_after.version, 'generation', v_generation);
END $$;

CREATE FUNCTION duly.apply_schedules_1(p_now bigint, p_groups jsonb) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  v_now bigint := duly.begin_1(p_now);
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
  PERFORM 1 FROM duly.schedules WHERE id IN (
    SELECT c ->> 'id' FROM jsonb_array_elements(p_groups) g CROSS JOIN jsonb_array_elements(g -> 'changes') c) ORDER BY id FOR UPDATE;
  FOR v_group IN SELECT * FROM jsonb_array_elements(p_groups) LOOP
    BEGIN
      v_items := '{}';
      FOR v_change IN SELECT * FROM jsonb_array_elements(v_group -> 'changes') LOOP
        v_items := v_items || duly.apply_schedule_1(v_now, v_group ->> 'actor', v_change);
      END LOOP;
      v_replies := v_replies || json_build_object('ok', true, 'items', array_to_json(v_items));
    EXCEPTION WHEN SQLSTATE 'DU001' OR SQLSTATE 'DU002' THEN
      GET STACKED DIAGNOSTICS v_state = RETURNED_SQLSTATE, v_message = MESSAGE_TEXT, v_hint = PG_EXCEPTION_HINT, v_detail = PG_EXCEPTION_DETAIL;
      v_replies := v_replies || duly.refusal_1(v_state, v_message, v_hint, v_detail);
    END;
  END LOOP;
  RETURN json_build_object('now', v_now, 'hints', duly.hints_1(), 'groups', array_to_json(v_replies))::text;
END $$;

CREATE FUNCTION duly.schedule_json_1(s duly.schedules) RETURNS json LANGUAGE sql AS $$
  SELECT json_build_object('id', s.id, 'app', s.app, 'tenant', s.tenant, 'name', s.name, 'generation', s.generation, 'version', s.version,
    'spec', s.spec, 'state', s.state, 'dueAt', s.due_at, 'waitsFor', s.waits_for, 'createdAt', s.created_at, 'updatedAt', s.updated_at)
$$;

-- Leases due schedules, or those named, to one node. One fence for all that a claim takes: each of them had a smaller one before.
CREATE FUNCTION duly.claim_schedules_1(p_now bigint, p_node text, p_token text, p_limit integer, p_lease_ms bigint, p_ids jsonb)
RETURNS text LANGUAGE plpgsql
SET plan_cache_mode = force_generic_plan SET jit = off SET enable_seqscan = off SET enable_bitmapscan = off
SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
  v_now bigint := duly.begin_1(p_now);
  v_ids text[];
  v_rows tid[];
  v_fence bigint;
  v_schedules json;
  v_next bigint;
  v_leased bigint;
BEGIN
  SELECT array_agg(id ORDER BY seq) INTO v_ids FROM duly.schedules WHERE token IS NOT NULL AND token = p_token;
  IF v_ids IS NULL THEN
    IF p_ids IS NULL THEN
      SELECT array_agg(d.ctid), array_agg(d.id) INTO v_rows, v_ids FROM (
        SELECT ctid, id FROM duly.schedules
        WHERE due_at IS NOT NULL AND due_at <= v_now AND (lease_until IS NULL OR lease_until <= v_now)
        ORDER BY due_at, seq LIMIT greatest(p_limit, 0) FOR UPDATE SKIP LOCKED) d;
    ELSE
      SELECT array_agg(d.ctid ORDER BY d.n), array_agg(d.id ORDER BY d.n) INTO v_rows, v_ids FROM (
        SELECT s.ctid, s.id, i.n FROM jsonb_array_elements_text(p_ids) WITH ORDINALITY AS i (id, n) JOIN duly.schedules s ON s.id = i.id
        WHERE i.n <= p_limit AND (s.lease_until IS NULL OR s.lease_until <= v_now) FOR UPDATE OF s) d;
    END IF;
    IF v_rows IS NOT NULL THEN
      v_fence := nextval('duly.fence');
      UPDATE duly.schedules SET fence = v_fence, lease_until = v_now + p_lease_ms, token = p_token, node = p_node WHERE ctid = ANY (v_rows);
    END IF;
  END IF;
  SELECT json_agg(json_build_object('id', s.id, 'app', s.app, 'tenant', s.tenant, 'name', s.name, 'generation', s.generation,
      'version', s.version, 'spec', s.spec, 'state', s.state, 'dueAt', s.due_at, 'waitsFor', s.waits_for, 'createdAt', s.created_at,
      'updatedAt', s.updated_at, 'fence', s.fence,
      'active', coalesce(a.runs, '[]'::json),
      -- Fewer than the page holds are all there are.
      'activeCount', CASE WHEN coalesce(a.n, 0) < 10 THEN coalesce(a.n, 0) ELSE (
        SELECT count(*) FROM duly.jobs j WHERE j.schedule_id = s.id AND NOT j.slot_allow) END,
      'waited', CASE WHEN s.waits_for IS NOT NULL THEN (
        SELECT json_build_object('id', h.id, 'status', h.status, 'finishedAt', h.finished_at) FROM (
          SELECT id, status, finished_at FROM duly.dead WHERE id = s.waits_for
          UNION ALL SELECT id, status, finished_at FROM duly.finished WHERE id = s.waits_for) h ORDER BY h.finished_at DESC LIMIT 1) END
    ) ORDER BY i.n) INTO v_schedules
  FROM unnest(v_ids) WITH ORDINALITY AS i (id, n) JOIN duly.schedules s ON s.id = i.id
  CROSS JOIN LATERAL (
    SELECT json_agg(json_build_object('id', r.id, 'status', r.status, 'slotAt', r.slot_at, 'origin', r.origin, 'dueAt', r.due_at,
      'cancelRequestedAt', r.cancel_requested_at) ORDER BY r.seq) AS runs, count(*) AS n
    FROM (SELECT j.id, j.status, j.slot_at, j.origin, j.due_at, j.cancel_requested_at, j.seq FROM duly.jobs j
      WHERE j.schedule_id = s.id AND NOT j.slot_allow ORDER BY j.seq LIMIT 10) r) a;
  SELECT due_at INTO v_next FROM duly.schedules
  WHERE due_at IS NOT NULL AND (lease_until IS NULL OR lease_until <= v_now) ORDER BY due_at, seq LIMIT 1;
  -- Also when another claim's lease ends: whoever holds it may be dead, and then somebody else must decide. Leased ones are few.
  SELECT min(lease_until) INTO v_leased FROM duly.schedules
  WHERE token IS NOT NULL AND token <> p_token AND lease_until > v_now AND due_at IS NOT NULL;
  RETURN json_build_object('now', v_now, 'schedules', coalesce(v_schedules, '[]'::json), 'nextDueAt', least(v_next, v_leased),
    'more', p_ids IS NULL AND coalesce(cardinality(v_ids), 0) >= p_limit)::text;
END $$;

-- One schedule's decisions: compares and sets first, so that of a conflict nothing is written; what fails after that fails the whole call.
CREATE FUNCTION duly.fire_group_1(p_now bigint, p_node text, p_group jsonb) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  v_id text := p_group ->> 'scheduleId';
  v_version bigint := (p_group ->> 'version')::bigint;
  v_fence bigint := (p_group ->> 'fence')::bigint;
  v_waits text := p_group ->> 'waitsFor';
  v_over boolean := false;
  v_generation integer;
  v_one jsonb;
BEGIN
  IF jsonb_typeof(p_group -> 'tell') = 'array' AND NOT duly.all_wait_1(p_group -> 'tell') THEN
    UPDATE duly.schedules SET lease_until = NULL, token = NULL, node = NULL WHERE id = v_id AND version = v_version AND fence = v_fence;
    RETURN CASE WHEN FOUND THEN 'stale' ELSE 'conflict' END;
  END IF;
  -- One that ends below makes the schedule due by itself, as every end does.
  IF v_waits IS NOT NULL AND NOT jsonb_path_exists(p_group -> 'jobs', '$[*] ? (@.id == $id)', jsonb_build_object('id', v_waits)) THEN
    v_over := duly.is_over_1(v_waits);
  END IF;
  UPDATE duly.schedules SET state = p_group ->> 'state', due_at = CASE WHEN v_over THEN p_now ELSE (p_group ->> 'dueAt')::bigint END,
    waits_for = v_waits, version = version + 1, updated_at = p_now, lease_until = NULL, token = NULL, node = NULL
  WHERE id = v_id AND version = v_version AND fence = v_fence RETURNING generation INTO v_generation;
  IF NOT FOUND THEN RETURN 'conflict'; END IF;
  PERFORM duly.end_others_1(p_now, p_group -> 'cancel', p_node);
  FOR v_one IN SELECT * FROM jsonb_array_elements(p_group -> 'jobs') LOOP PERFORM duly.make_job_1(p_now, v_one, false); END LOOP;
  FOR v_one IN SELECT * FROM jsonb_array_elements(p_group -> 'slots') LOOP
    PERFORM duly.add_slot_1(p_now, v_id, v_generation, v_one);
  END LOOP;
  IF jsonb_typeof(p_group -> 'tell') = 'array' THEN PERFORM duly.tell_1(p_group -> 'tell'); END IF;
  -- As a rule no hint for schedules: the node that fired comes back when it planned to, and the others saw its lease and look again when
  -- that would have ended. But it did not plan to come back at once.
  IF v_over THEN PERFORM duly.hint_1('s'); END IF;
  RETURN 'fired';
END $$;

-- Decisions of many schedules that only make plain jobs, written together with one statement for each table. If one of them was changed
-- or taken meanwhile nothing is done (DU009), and the caller sends them one by one.
CREATE FUNCTION duly.fire_together_1(p_now bigint, p_together jsonb) RETURNS void LANGUAGE plpgsql AS $$
DECLARE v_fired bigint;
BEGIN
  UPDATE duly.schedules s SET state = f.state, due_at = f."dueAt", waits_for = f."waitsFor", version = s.version + 1, updated_at = p_now,
    lease_until = NULL, token = NULL, node = NULL
  FROM jsonb_to_recordset(p_together -> 'fires') AS f (id text, version bigint, fence bigint, state text, "dueAt" bigint, "waitsFor" text)
  WHERE s.id = f.id AND s.version = f.version AND s.fence = f.fence;
  GET DIAGNOSTICS v_fired = ROW_COUNT;
  IF v_fired < jsonb_array_length(p_together -> 'fires') THEN
    RAISE EXCEPTION USING ERRCODE = 'DU009', MESSAGE = 'A schedule was changed or taken meanwhile.';
  END IF;
  IF jsonb_array_length(p_together -> 'jobs' -> 'columns' -> 'id') > 0 THEN PERFORM duly.make_plain_1(p_now, p_together -> 'jobs'); END IF;
  INSERT INTO duly.slots (schedule_id, generation, from_at, to_at, count, decision, reason, node, job_id, decided_at, last_decided_at)
  SELECT s.id, c.generation, s."fromAt", s."toAt", s.count, s.decision, s.reason, s.node, s."jobId", p_now, p_now
  FROM jsonb_to_recordset(p_together -> 'slots') AS s (
    id text, "fromAt" bigint, "toAt" bigint, count bigint, decision text, reason text, node text, "jobId" text)
  JOIN duly.schedules c ON c.id = s.id;
END $$;

-- `p_together`: decisions that touch nothing but their own schedule and jobs; `p_groups`: the others, one by one.
CREATE FUNCTION duly.fire_1(p_now bigint, p_node text, p_together jsonb, p_groups jsonb, p_claim jsonb, p_made text[])
RETURNS text LANGUAGE plpgsql
SET plan_cache_mode = force_generic_plan SET jit = off SET enable_seqscan = off SET enable_bitmapscan = off
SET enable_hashjoin = off SET enable_mergejoin = off SET lock_timeout = '2s' AS $$
DECLARE
  v_now bigint := duly.begin_1(p_now);
  v_group jsonb;
  v_outcomes text[] := '{}';
  v_claimed json := '[]';
BEGIN
  IF p_together IS NOT NULL THEN PERFORM duly.fire_together_1(v_now, p_together); END IF;
  FOR v_group IN SELECT * FROM jsonb_array_elements(p_groups) LOOP
    v_outcomes := v_outcomes || duly.fire_group_1(v_now, p_node, v_group);
  END LOOP;
  IF p_claim IS NOT NULL THEN
    v_claimed := (duly.claim_1(v_now, p_claim, false)).claimed;
    -- Who took all of it wakes nobody for it.
    IF duly.took_all_1(v_claimed, p_made) THEN PERFORM duly.unhint_1('j'); END IF;
  END IF;
  RETURN json_build_object('now', v_now, 'hints', duly.hints_1(), 'groups', array_to_json(v_outcomes), 'claimed', v_claimed)::text;
END $$;

-- Otherwise its first statement looks through all schedules for those it is given, so that each one costs more than the one before.
ALTER FUNCTION duly.apply_schedules_1 SET plan_cache_mode = force_generic_plan;
ALTER FUNCTION duly.apply_schedules_1 SET jit = off;
ALTER FUNCTION duly.apply_schedules_1 SET enable_seqscan = off;
ALTER FUNCTION duly.apply_schedules_1 SET enable_bitmapscan = off;
ALTER FUNCTION duly.apply_schedules_1 SET enable_hashjoin = off;
ALTER FUNCTION duly.apply_schedules_1 SET enable_mergejoin = off;
