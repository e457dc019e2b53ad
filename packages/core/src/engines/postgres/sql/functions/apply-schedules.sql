CREATE FUNCTION duly.schedule_audit(s duly.schedules, p_spec text) RETURNS json LANGUAGE plpgsql AS $$
BEGIN
  RETURN json_build_object('version', s.version, 'spec', p_spec::json, 'dueAt', s.due_at);
END $$;

CREATE FUNCTION duly.apply_schedule(p_now bigint, p_actor text, p_change jsonb) RETURNS json LANGUAGE plpgsql AS $$
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
    PERFORM duly.refuse('records_conflict',
      format('Schedule "%s" is at version %s, not %s.', v_id, coalesce(v_before.version::text, 'none'), coalesce(v_expect::text, 'none')),
      'Someone changed it meanwhile. Read it again and repeat the change.',
      json_build_object('id', v_id, 'version', v_before.version));
  END IF;
  IF v_expect_generation IS NOT NULL AND v_before.generation IS DISTINCT FROM v_expect_generation THEN
    PERFORM duly.refuse('records_conflict',
      format('Schedule "%s" was deleted and created again: it is in generation %s, not %s.', v_id,
        coalesce(v_before.generation::text, 'none'), v_expect_generation),
      'Read it again and repeat the change.', json_build_object('id', v_id, 'version', v_before.version));
  END IF;
  IF v_before.id IS NOT NULL THEN SELECT * INTO v_spec FROM duly.specs WHERE id = v_id; END IF;
  IF p_change ->> 'op' = 'put' AND NOT duly.all_wait(p_change -> 'slotDetails') THEN
    PERFORM duly.refuse('records_conflict',
      format('A run of schedule "%s" whose slot details change no longer waits.', v_id),
      'Read the schedule again and repeat the change.', json_build_object('id', v_id, 'version', v_before.version));
  END IF;
  PERFORM duly.add_notification('s');
  IF p_change ->> 'op' = 'delete' THEN
    FOR v_run IN SELECT id FROM duly.jobs WHERE schedule_id = v_id AND started_at IS NULL ORDER BY seq LOOP
      v_job := duly.job_state(v_run);
      IF v_job.id IS NOT NULL THEN
        PERFORM duly.cancel_job(p_now, v_job, 'ask', p_actor, 'schedule ' || (p_change ->> 'action'));
      END IF;
    END LOOP;
    FOR v_one IN SELECT * FROM jsonb_array_elements(p_change -> 'slots') LOOP
      PERFORM duly.add_slot(p_now, v_id, v_before.generation, v_one);
    END LOOP;
    DELETE FROM duly.schedules WHERE id = v_id;
    DELETE FROM duly.specs WHERE id = v_id;
    -- All of it: the ledger stays, and whoever reads it must know what it is the ledger of.
    PERFORM duly.audit(p_now, p_actor, p_change ->> 'action', 'schedule:' || v_id, json_build_object('version', v_before.version,
      'spec', v_spec.spec::json, 'dueAt', v_before.due_at, 'app', v_spec.app, 'tenant', v_spec.tenant, 'name', v_spec.name,
      'generation', v_before.generation, 'state', v_before.state::json), NULL, p_change ->> 'note');
    RETURN json_build_object('id', v_id, 'version', v_before.version, 'generation', v_before.generation);
  END IF;
  v_due := (p_change ->> 'dueAt')::bigint;
  -- A job of this write has not ended: if it ends in this write, its end makes the schedule due.
  IF NOT jsonb_path_exists(p_change -> 'jobs', '$[*] ? (@.id == $id)', jsonb_build_object('id', p_change ->> 'waitsFor'))
    AND duly.is_over(p_change ->> 'waitsFor')
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
      PERFORM duly.refuse('records_conflict', format('Schedule "%s" is there already.', v_id),
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
  PERFORM duly.end_others(p_now, p_change -> 'cancel', p_actor);
  FOR v_one IN SELECT * FROM jsonb_array_elements(p_change -> 'jobs') LOOP PERFORM duly.create_job(p_now, v_one, false); END LOOP;
  FOR v_one IN SELECT * FROM jsonb_array_elements(p_change -> 'slots') LOOP
    PERFORM duly.add_slot(p_now, v_id, v_generation, v_one);
  END LOOP;
  PERFORM duly.set_slot_details(p_change -> 'slotDetails');
  SELECT * INTO v_after FROM duly.schedules WHERE id = v_id;
  PERFORM duly.audit(p_now, p_actor, p_change ->> 'action', 'schedule:' || v_id,
    CASE WHEN v_before.id IS NOT NULL THEN duly.schedule_audit(v_before, v_spec.spec) END,
    duly.schedule_audit(v_after, p_change ->> 'spec'), p_change ->> 'note');
  RETURN json_build_object('id', v_id, 'version', v_after.version, 'generation', v_generation);
END $$;

-- call: applySchedules
CREATE FUNCTION duly.apply_schedules(p_now bigint, p_groups jsonb) RETURNS text LANGUAGE plpgsql
SET lock_timeout = '2s'
SET plan_cache_mode = force_generic_plan SET jit = off SET enable_seqscan = off SET enable_bitmapscan = off
SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
  v_now bigint := duly.begin(p_now);
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
        v_items := v_items || duly.apply_schedule(v_now, v_group ->> 'actor', v_change);
      END LOOP;
      v_replies := v_replies || json_build_object('ok', true, 'items', array_to_json(v_items));
    EXCEPTION WHEN SQLSTATE 'DU001' OR SQLSTATE 'DU002' THEN
      GET STACKED DIAGNOSTICS v_state = RETURNED_SQLSTATE, v_message = MESSAGE_TEXT, v_hint = PG_EXCEPTION_HINT, v_detail = PG_EXCEPTION_DETAIL;
      v_replies := v_replies || duly.refusal(v_state, v_message, v_hint, v_detail);
    END;
  END LOOP;
  RETURN json_build_object('now', v_now, 'notifications', duly.notifications(), 'groups', array_to_json(v_replies))::text;
END $$;
