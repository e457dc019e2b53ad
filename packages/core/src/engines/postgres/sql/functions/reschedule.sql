CREATE FUNCTION duly.reschedule_target(p_now bigint, p_target jsonb, p_due bigint, p_actor text) RETURNS json LANGUAGE plpgsql AS $$
DECLARE
  v_id text := p_target ->> 'id';
  v_job duly.jobs;
  v_status text;
BEGIN
  IF p_target ? 'key' THEN v_id := duly.holder(p_now, p_target ->> 'type', p_target ->> 'tenant', p_target ->> 'key'); END IF;
  IF v_id IS NULL THEN RETURN duly.changed_item(NULL, 'missing', NULL, NULL); END IF;
  v_job := duly.job_state(v_id);
  IF v_job.id IS NULL THEN RETURN duly.not_live(v_id); END IF;
  IF v_job.status = 'RUNNING' THEN RETURN duly.changed_item(v_id, 'refused', v_job.status, v_job.due_at); END IF;
  IF v_job.due_at = p_due THEN RETURN duly.changed_item(v_id, 'unchanged', v_job.status, v_job.due_at); END IF;
  v_status := duly.move_due(p_now, v_job, p_due, 'rescheduled');
  PERFORM duly.audit_job(p_now, p_actor, NULL, 'reschedule', v_job, json_build_object('status', v_status, 'dueAt', p_due));
  RETURN duly.changed_item(v_id, 'changed', v_status, p_due);
END $$;

-- call: reschedule
CREATE FUNCTION duly.reschedule(p_now bigint, p_groups jsonb) RETURNS text LANGUAGE plpgsql
SET lock_timeout = '2s'
SET plan_cache_mode = force_generic_plan SET jit = off SET enable_seqscan = off SET enable_bitmapscan = off
SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
  v_now bigint := duly.begin(p_now);
  v_group jsonb;
  v_target jsonb;
  v_items json[];
  v_replies json[] := '{}';
BEGIN
  PERFORM duly.lock_dependents(ARRAY(
    SELECT t ->> 'id' FROM jsonb_array_elements(p_groups) g CROSS JOIN jsonb_array_elements(g -> 'targets') t WHERE t ? 'id'
    UNION SELECT unnest(ARRAY[d.job_id, d.follow_id])
    FROM jsonb_array_elements(p_groups) g CROSS JOIN jsonb_array_elements(g -> 'targets') t
    JOIN duly.dedupes d ON d.type = ANY (ARRAY[t ->> 'type']) AND d.tenant = coalesce(t ->> 'tenant', '') AND d.key = t ->> 'key'));
  FOR v_group IN SELECT * FROM jsonb_array_elements(p_groups) LOOP
    v_items := '{}';
    FOR v_target IN SELECT * FROM jsonb_array_elements(v_group -> 'targets') LOOP
      v_items := v_items || duly.reschedule_target(v_now, v_target, duly.due_of(v_now, v_group -> 'due'), v_group ->> 'actor');
    END LOOP;
    v_replies := v_replies || json_build_object('ok', true, 'items', array_to_json(v_items));
  END LOOP;
  RETURN json_build_object('now', v_now, 'notifications', duly.notifications(), 'groups', array_to_json(v_replies))::text;
END $$;
