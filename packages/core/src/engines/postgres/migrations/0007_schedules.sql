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
  FROM jsonb_to_recordset(coalesce(p_told, '[]')) AS t (id text, details text)
  WHERE j.id = ANY (ARRAY[t.id]) AND j.slot IS NOT NULL;
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

CREATE FUNCTION duly.schedule_audit_1(s duly.schedules, p_spec text) RETURNS json LANGUAGE plpgsql AS $$
BEGIN
  RETURN json_build_object('version', s.version, 'spec', p_spec::json, 'dueAt', s.due_at);
END $$;

CREATE FUNCTION duly.apply_schedule_1(p_now bigint, p_actor text, p_change jsonb) RETURNS json LANGUAGE plpgsql AS $$
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
    PERFORM duly.refuse_1('records_conflict',
      format('Schedule "%s" is at version %s, not %s.', v_id, coalesce(v_before.version::text, 'none'), coalesce(v_expect::text, 'none')),
      'Someone changed it meanwhile. Read it again and repeat the change.',
      json_build_object('id', v_id, 'version', v_before.version));
  END IF;
  IF v_expect_generation IS NOT NULL AND v_before.generation IS DISTINCT FROM v_expect_generation THEN
    PERFORM duly.refuse_1('records_conflict',
      format('Schedule "%s" was deleted and created again: it is in generation %s, not %s.', v_id,
        coalesce(v_before.generation::text, 'none'), v_expect_generation),
      'Read it again and repeat the change.', json_build_object('id', v_id, 'version', v_before.version));
  END IF;
  IF v_before.id IS NOT NULL THEN SELECT * INTO v_spec FROM duly.specs WHERE id = v_id; END IF;
  IF p_change ->> 'op' = 'put' AND NOT duly.all_wait_1(p_change -> 'slotDetails') THEN
    PERFORM duly.refuse_1('records_conflict',
      format('A run of schedule "%s" whose slot details change no longer waits.', v_id),
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
    DELETE FROM duly.specs WHERE id = v_id;
    -- All of it: the ledger stays, and whoever reads it must know what it is the ledger of.
    PERFORM duly.audit_1(p_now, p_actor, p_change ->> 'action', 'schedule:' || v_id, json_build_object('version', v_before.version,
      'spec', v_spec.spec::json, 'dueAt', v_before.due_at, 'app', v_spec.app, 'tenant', v_spec.tenant, 'name', v_spec.name,
      'generation', v_before.generation, 'state', v_before.state::json), NULL, p_change ->> 'note');
    RETURN json_build_object('id', v_id, 'version', v_before.version, 'generation', v_before.generation);
  END IF;
  v_due := (p_change ->> 'dueAt')::bigint;
  -- A job of this write has not ended: if it ends in this write, its end makes the schedule due.
  IF NOT jsonb_path_exists(p_change -> 'jobs', '$[*] ? (@.id == $id)', jsonb_build_object('id', p_change ->> 'waitsFor'))
    AND duly.is_over_1(p_change ->> 'waitsFor')
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
      PERFORM duly.refuse_1('records_conflict', format('Schedule "%s" is there already.', v_id),
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
  PERFORM duly.end_others_1(p_now, p_change -> 'cancel', p_actor);
  FOR v_one IN SELECT * FROM jsonb_array_elements(p_change -> 'jobs') LOOP PERFORM duly.make_job_1(p_now, v_one, false); END LOOP;
  FOR v_one IN SELECT * FROM jsonb_array_elements(p_change -> 'slots') LOOP
    PERFORM duly.add_slot_1(p_now, v_id, v_generation, v_one);
  END LOOP;
  PERFORM duly.tell_1(p_change -> 'slotDetails');
  SELECT * INTO v_after FROM duly.schedules WHERE id = v_id;
  PERFORM duly.audit_1(p_now, p_actor, p_change ->> 'action', 'schedule:' || v_id,
    CASE WHEN v_before.id IS NOT NULL THEN duly.schedule_audit_1(v_before, v_spec.spec) END,
    duly.schedule_audit_1(v_after, p_change ->> 'spec'), p_change ->> 'note');
  RETURN json_build_object('id', v_id, 'version', v_after.version, 'generation', v_generation);
END $$;

-- call: applySchedules
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
  PERFORM 1 FROM duly.schedules WHERE id = ANY (ARRAY(
    SELECT c ->> 'id' FROM jsonb_array_elements(p_groups) g CROSS JOIN jsonb_array_elements(g -> 'changes') c)) ORDER BY id FOR UPDATE;
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

-- Leases due schedules, or those named, to one node. One fence for all that a claim takes: each of them had a smaller one before.
--
-- Nothing is written to the schedules themselves. Two claims cannot take the same one: each locks what it takes, passing over what others have
-- locked, and then looks whether somebody's lease was committed in between. A lease that has ended is taken over only by who can lock its
-- row: a decision that comes late locks it too, and either finds what is left of it or is waited for by nobody.
--
-- `l.fence > 0` is always true. It lets the planner read the leases by their index, so that no other choice of the statement looks cheap beside it.
-- call: claimSchedules
CREATE FUNCTION duly.claim_schedules_1(p_now bigint, p_node text, p_token text, p_limit integer, p_lease_ms bigint, p_ids jsonb)
RETURNS text LANGUAGE plpgsql
-- The memory is for the list of what is leased, which is looked up for every schedule that is due.
SET work_mem = '8MB' AS $$
DECLARE
  v_now bigint := duly.begin_1(p_now);
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
    IF v_over <> '{}' THEN PERFORM duly.leave_leases_1(v_over, coalesce(v_ids, '{}')); END IF;
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

-- Ends the leases of these schedules under these fences, whose rows are locked, and what was decided or edited since.
CREATE FUNCTION duly.leave_leases_1(p_fences bigint[], p_ids text[]) RETURNS void LANGUAGE plpgsql AS $$
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
  IF NOT EXISTS (SELECT 1 FROM duly.schedule_leases WHERE fence = v_fence AND v_id = ANY (ids)) THEN RETURN 'conflict'; END IF;
  IF jsonb_typeof(p_group -> 'slotDetails') = 'array' AND NOT duly.all_wait_1(p_group -> 'slotDetails') THEN
    PERFORM 1 FROM duly.schedules WHERE id = v_id AND version = v_version;
    IF NOT FOUND THEN RETURN 'conflict'; END IF;
    PERFORM duly.leave_leases_1(ARRAY[v_fence], ARRAY[v_id]);
    RETURN 'stale';
  END IF;
  -- A job of this write has not ended: if it ends in this write, its end makes the schedule due.
  IF v_waits IS NOT NULL AND NOT jsonb_path_exists(p_group -> 'jobs', '$[*] ? (@.id == $id)', jsonb_build_object('id', v_waits)) THEN
    v_over := duly.is_over_1(v_waits);
  END IF;
  UPDATE duly.schedules SET state = p_group ->> 'state', due_at = CASE WHEN v_over THEN p_now ELSE (p_group ->> 'dueAt')::bigint END,
    waits_for = v_waits, version = version + 1, updated_at = p_now
  WHERE id = v_id AND version = v_version RETURNING generation INTO v_generation;
  IF NOT FOUND THEN RETURN 'conflict'; END IF;
  PERFORM duly.end_others_1(p_now, p_group -> 'cancel', p_node);
  FOR v_one IN SELECT * FROM jsonb_array_elements(p_group -> 'jobs') LOOP PERFORM duly.make_job_1(p_now, v_one, false); END LOOP;
  FOR v_one IN SELECT * FROM jsonb_array_elements(p_group -> 'slots') LOOP
    PERFORM duly.add_slot_1(p_now, v_id, v_generation, v_one);
  END LOOP;
  IF jsonb_typeof(p_group -> 'slotDetails') = 'array' THEN PERFORM duly.tell_1(p_group -> 'slotDetails'); END IF;
  -- As a rule no hint for schedules: the node that fired comes back when it planned to, and the others saw its lease and look again when
  -- that would have ended. But it did not plan to come back at once.
  IF v_over THEN PERFORM duly.hint_1('s'); END IF;
  RETURN 'fired';
END $$;

-- Decisions of many schedules that fire one slot each and make one plain job for it, written together with one statement for each table. If one
-- of them was changed or taken meanwhile nothing is done (DU009), and the caller sends them one by one. All lists are in one order. What many
-- have in common is a kind: `p_kind` counts from 1. `p_tenants` null: none has one. `p_claim`: of who would take them; answers what it was given,
-- or null if that is to be found out by a claim. Jobs that whoever makes them takes at once are made as RUNNING: one version of the row instead
-- of two, and no entry in the index of what is ready.
CREATE FUNCTION duly.fire_together_1(
  p_now bigint, p_fence bigint, p_ids text[], p_versions bigint[], p_states text[], p_dues bigint[], p_kind integer[], p_kinds jsonb,
  p_jobs text[], p_job_dues bigint[], p_offsets bigint[], p_tenants text[], p_inputs text[], p_slot_ats bigint[], p_slots text[], p_details text[], p_claim jsonb)
RETURNS json LANGUAGE plpgsql AS $$
DECLARE
  v_held text[];
  v_moved text[];
  v_kind record;
  v_columns json;
BEGIN
  SELECT ids INTO v_held FROM duly.schedule_leases WHERE fence = p_fence;
  WITH moved AS (
    UPDATE duly.schedules s SET state = f.state, due_at = f.due, waits_for = CASE WHEN k.waits THEN f.job END, version = s.version + 1,
      updated_at = p_now
    FROM unnest(p_ids, p_versions, p_states, p_dues, p_jobs, p_slot_ats, p_kind) AS f (id, version, state, due, job, slot_at, kind)
    JOIN ROWS FROM (jsonb_to_recordset(p_kinds) AS (waits boolean, decision text, reason text, node text)) WITH ORDINALITY AS k (waits, decision, reason, node, n)
      ON k.n = f.kind
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
  IF p_claim IS NOT NULL AND jsonb_array_length(p_kinds) = 1 THEN
    SELECT * INTO v_kind FROM jsonb_to_record(p_kinds -> 0) AS k (
      {{job.kind | "%field" %sql}}, "startDeadlineMs" bigint, "maxAttempts" integer, "slotAllow" boolean,
      "retentionMs" bigint, "deadRetentionMs" bigint);
    IF p_now >= ALL (p_job_dues) AND coalesce(p_now - v_kind."startDeadlineMs" <= ALL (p_job_dues), true)
      AND duly.takes_just_1(p_now, p_claim, v_kind.type, v_kind.version, v_kind.queue, cardinality(p_ids)) THEN
      WITH made AS (
        INSERT INTO duly.jobs (
          {{job.caller -serial}}, status, due_at, expire_at, created_at, updated_at, started_at, lateness_ms,
          fence, node, claimed_at, attempt, max_attempts, schedule_id, slot, slot_at, slot_allow, slot_details, retention_ms, dead_retention_ms)
        SELECT {{job.caller -serial | v_kind."%field" | , | id=j.id | rankOffsetMs=j.rank_offset | tenant=j.tenant | input=j.input}},
          'RUNNING', j.due, j.due + v_kind."startDeadlineMs", p_now, p_now,
          p_now, p_now - j.due, nextval('duly.fence'), p_claim ->> 'node', p_now, 1, v_kind."maxAttempts", j.schedule_id, j.slot, j.slot_at,
          v_kind."slotAllow", j.details, v_kind."retentionMs", v_kind."deadRetentionMs"
        FROM unnest(p_jobs, p_job_dues, p_offsets, p_tenants, p_inputs, p_ids, p_slot_ats, p_slots, p_details)
          AS j (id, due, rank_offset, tenant, input, schedule_id, slot_at, slot, details)
        RETURNING id, seq, fence),
      leased AS (
        INSERT INTO duly.leases (id, seq, fence, node, token, plain, until_at)
        SELECT id, seq, fence, p_claim ->> 'node', p_claim ->> 'token', true, p_now + (p_claim ->> 'leaseMs')::bigint FROM made)
      SELECT json_build_array(json_agg(id), json_agg(fence)) INTO v_columns FROM made;
      INSERT INTO duly.changes (at, n, entries) VALUES
        (p_now, cardinality(p_jobs), json_build_array(p_jobs, v_kind.type, 'PENDING', 'made', 0)::text),
        (p_now, cardinality(p_jobs), json_build_array(p_jobs, v_kind.type, 'RUNNING', 'claimed', 0)::text);
      -- Whoever sent them knows the rest.
      RETURN json_build_object('made', v_columns);
    END IF;
  END IF;
  WITH made AS (
    INSERT INTO duly.jobs (
      {{job.caller -serial}}, status, rank, due_at, expire_at, created_at, updated_at, max_attempts,
      schedule_id, slot, slot_at, slot_allow, slot_details, retention_ms, dead_retention_ms)
    SELECT {{job.caller -serial | k."%field" | , | id=j.id | rankOffsetMs=j.rank_offset | tenant=j.tenant | input=j.input}}, CASE WHEN j.due <= p_now THEN 'PENDING' ELSE 'SCHEDULED' END,
      CASE WHEN j.due <= p_now THEN j.due + j.rank_offset END, j.due, j.due + k."startDeadlineMs", p_now, p_now, k."maxAttempts",
      j.schedule_id, j.slot, j.slot_at, k."slotAllow", j.details, k."retentionMs", k."deadRetentionMs"
    FROM unnest(p_jobs, p_job_dues, p_offsets, p_tenants, p_inputs, p_ids, p_slot_ats, p_slots, p_details, p_kind)
      WITH ORDINALITY AS j (id, due, rank_offset, tenant, input, schedule_id, slot_at, slot, details, kind, place)
    JOIN ROWS FROM (jsonb_to_recordset(p_kinds) AS (
      {{job.kind | "%field" %sql}}, "startDeadlineMs" bigint, "maxAttempts" integer, "slotAllow" boolean,
      "retentionMs" bigint, "deadRetentionMs" bigint)) WITH ORDINALITY AS k (
      {{job.kind | "%field"}}, "startDeadlineMs", "maxAttempts", "slotAllow", "retentionMs", "deadRetentionMs", n)
      ON k.n = j.kind
    -- Made in their order: of equal rank the first goes first.
    ORDER BY j.place
    RETURNING id, type, status)
  INSERT INTO duly.changes (at, n, entries)
  SELECT p_now, count(*), json_build_array(json_agg(id), json_agg(type), json_agg(status), 'made', 0)::text FROM made;
  PERFORM duly.hint_1('j');
  RETURN NULL;
END $$;

-- The lists from `p_fence` to `p_details` are those of fire_together_1, null for none; `p_groups`: the other decisions, one by one; `p_fences`: under
-- which all of them were claimed.
-- call: fire
CREATE FUNCTION duly.fire_1(
  p_now bigint, p_node text, p_fence bigint, p_ids text[], p_versions bigint[], p_states text[], p_dues bigint[], p_kind integer[], p_kinds jsonb,
  p_jobs text[], p_job_dues bigint[], p_offsets bigint[], p_tenants text[], p_inputs text[], p_slot_ats bigint[], p_slots text[], p_details text[],
  p_groups jsonb, p_fences bigint[], p_claim jsonb, p_made text[])
RETURNS text LANGUAGE plpgsql
SET lock_timeout = '2s' AS $$
DECLARE
  v_now bigint := duly.begin_1(p_now);
  v_group jsonb;
  v_outcome text;
  v_outcomes text[] := '{}';
  v_done integer := coalesce(cardinality(p_ids), 0);
  v_claimed json;
BEGIN
  -- Before anything else: who takes an ended lease over locks it too.
  PERFORM 1 FROM duly.schedule_leases WHERE fence = ANY (p_fences) ORDER BY fence FOR UPDATE;
  IF p_ids IS NOT NULL THEN
    v_claimed := duly.fire_together_1(v_now, p_fence, p_ids, p_versions, p_states, p_dues, p_kind, p_kinds, p_jobs, p_job_dues, p_offsets,
      p_tenants, p_inputs, p_slot_ats, p_slots, p_details, CASE WHEN p_groups = '[]' THEN p_claim END);
  END IF;
  FOR v_group IN SELECT * FROM jsonb_array_elements(p_groups) LOOP
    v_outcome := duly.fire_group_1(v_now, p_node, v_group);
    v_outcomes := v_outcomes || v_outcome;
    IF v_outcome = 'fired' THEN v_done := v_done + 1; END IF;
  END LOOP;
  -- As a rule everything that was claimed together is decided together.
  DELETE FROM duly.schedule_leases WHERE cardinality(p_fences) = 1 AND fence = p_fences[1] AND cardinality(ids) = v_done;
  IF NOT FOUND THEN PERFORM duly.leave_leases_1(p_fences, '{}'); END IF;
  IF p_claim IS NOT NULL AND v_claimed IS NULL THEN
    v_claimed := (duly.claim_1(v_now, p_claim, false)).claimed;
    -- Who took all of it wakes nobody for it.
    IF duly.took_all_1(v_claimed, p_made) THEN PERFORM duly.unhint_1('j'); END IF;
  END IF;
  RETURN json_build_object('now', v_now, 'hints', duly.hints_1(), 'groups', array_to_json(v_outcomes), 'claimed', coalesce(v_claimed, '[]'::json))::text;
END $$;
