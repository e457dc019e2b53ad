-- One schedule's decisions: compares and sets first, so that of a conflict nothing is written; what fails after that fails the whole call.
CREATE FUNCTION duly.fire_group(p_now bigint, p_node text, p_group jsonb) RETURNS text LANGUAGE plpgsql AS $$
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
  IF jsonb_typeof(p_group -> 'slotDetails') = 'array' AND NOT duly.all_wait(p_group -> 'slotDetails') THEN
    PERFORM 1 FROM duly.schedules WHERE id = v_id AND version = v_version;
    IF NOT FOUND THEN RETURN 'conflict'; END IF;
    PERFORM duly.leave_leases(ARRAY[v_fence], ARRAY[v_id]);
    RETURN 'stale';
  END IF;
  -- A job of this write has not ended: if it ends in this write, its end makes the schedule due.
  IF v_waits IS NOT NULL AND NOT jsonb_path_exists(p_group -> 'jobs', '$[*] ? (@.id == $id)', jsonb_build_object('id', v_waits)) THEN
    v_over := duly.is_over(v_waits);
  END IF;
  UPDATE duly.schedules SET state = p_group ->> 'state', due_at = CASE WHEN v_over THEN p_now ELSE (p_group ->> 'dueAt')::bigint END,
    waits_for = v_waits, version = version + 1, updated_at = p_now
  WHERE id = v_id AND version = v_version RETURNING generation INTO v_generation;
  IF NOT FOUND THEN RETURN 'conflict'; END IF;
  PERFORM duly.end_others(p_now, p_group -> 'cancel', p_node);
  FOR v_one IN SELECT * FROM jsonb_array_elements(p_group -> 'jobs') LOOP PERFORM duly.create_job(p_now, v_one, false); END LOOP;
  FOR v_one IN SELECT * FROM jsonb_array_elements(p_group -> 'slots') LOOP
    PERFORM duly.add_slot(p_now, v_id, v_generation, v_one);
  END LOOP;
  IF jsonb_typeof(p_group -> 'slotDetails') = 'array' THEN PERFORM duly.set_slot_details(p_group -> 'slotDetails'); END IF;
  -- As a rule no notification for schedules: the node that fired comes back when it planned to, and the others saw its lease and look again when
  -- that would have ended. But it did not plan to come back at once.
  IF v_over THEN PERFORM duly.add_notification('s'); END IF;
  RETURN 'fired';
END $$;

-- Decisions of many schedules that fire one slot each and create one plain job for it, written together with one statement for each table.
-- If one of the schedules was changed or taken meanwhile nothing is done (DU009), and the caller sends them one by one. All lists are in one
-- order; kinds and lists of the jobs are those of insert_jobs, and a kind also says what the schedules and the rows of the ledger share.
-- Returns the jobs that run, or null if none does.
CREATE FUNCTION duly.fire_plain(
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
  v_running := duly.insert_jobs(p_now, p_specs, p_claim, p_kind, p_jobs, p_inputs, p_job_dues, p_rank_offsets, p_tenants, p_metadata, p_ids,
    p_slot_ats, p_slots, p_slot_details);
  IF v_running IS NULL THEN PERFORM duly.add_notification('n'); END IF;
  RETURN v_running;
END $$;

-- The parameters from `p_fence` to `p_slot_details` are those of fire_plain, null for none; `p_groups`: the other decisions, one by one; `p_fences`: under
-- which all of them were claimed.
-- call: fire
CREATE FUNCTION duly.fire(
  p_now bigint, p_node text, p_fence bigint, p_ids text[], p_versions bigint[], p_states text[], p_dues bigint[], p_specs jsonb, p_kind integer[],
  p_jobs text[], p_inputs text[], p_job_dues bigint[], p_rank_offsets bigint[], p_tenants text[], p_metadata text[], p_slot_ats bigint[],
  p_slots text[], p_slot_details text[], p_groups jsonb, p_fences bigint[], p_claim jsonb, p_created text[])
RETURNS text LANGUAGE plpgsql
SET lock_timeout = '2s'
SET plan_cache_mode = force_generic_plan SET jit = off SET enable_seqscan = off SET enable_bitmapscan = off
SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
  v_now bigint := duly.begin(p_now);
  v_group jsonb;
  v_outcome text;
  v_outcomes text[] := '{}';
  v_done integer := coalesce(cardinality(p_ids), 0);
  v_claimed json;
BEGIN
  -- Before anything else: who takes an ended lease over locks it too.
  PERFORM 1 FROM duly.schedule_leases WHERE fence = ANY (p_fences) ORDER BY fence FOR UPDATE;
  IF p_ids IS NOT NULL THEN
    v_claimed := duly.fire_plain(v_now, p_fence, p_ids, p_versions, p_states, p_dues, p_specs, p_kind, p_jobs, p_inputs, p_job_dues,
      p_rank_offsets, p_tenants, p_metadata, p_slot_ats, p_slots, p_slot_details, CASE WHEN p_groups = '[]' THEN p_claim END);
  END IF;
  FOR v_group IN SELECT * FROM jsonb_array_elements(p_groups) LOOP
    v_outcome := duly.fire_group(v_now, p_node, v_group);
    v_outcomes := v_outcomes || v_outcome;
    IF v_outcome = 'fired' THEN v_done := v_done + 1; END IF;
  END LOOP;
  -- As a rule everything that was claimed together is decided together.
  DELETE FROM duly.schedule_leases WHERE cardinality(p_fences) = 1 AND fence = p_fences[1] AND cardinality(ids) = v_done;
  IF NOT FOUND THEN PERFORM duly.leave_leases(p_fences, '{}'); END IF;
  IF p_claim IS NOT NULL AND v_claimed IS NULL THEN
    v_claimed := (duly.claim(v_now, p_claim, false)).claimed;
    -- If the caller claims all that it created, no other node is woken for it.
    IF duly.claimed_all(v_claimed, p_created) THEN PERFORM duly.drop_notification('n'); END IF;
  END IF;
  RETURN json_build_object('now', v_now, 'notifications', duly.notifications(), 'groups', array_to_json(v_outcomes), 'claimed', coalesce(v_claimed, '[]'::json))::text;
END $$;
