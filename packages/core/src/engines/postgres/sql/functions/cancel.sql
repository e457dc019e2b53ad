-- Cancels what a target names; a key names its holder and the follow-up behind it.
CREATE FUNCTION duly.cancel_target(p_now bigint, p_target jsonb, p_mode text, p_actor text, p_note text) RETURNS json LANGUAGE plpgsql AS $$
DECLARE
  v_id text := p_target ->> 'id';
  v_follow text;
  v_job duly.jobs;
  v_item json;
BEGIN
  IF p_target ? 'key' THEN
    SELECT follow_id INTO v_follow FROM duly.dedupes
    WHERE type = p_target ->> 'type' AND tenant = coalesce(p_target ->> 'tenant', '') AND key = p_target ->> 'key' FOR UPDATE;
    v_id := duly.holder(p_now, p_target ->> 'type', p_target ->> 'tenant', p_target ->> 'key');
    IF v_id IS NULL THEN RETURN duly.changed_item(NULL, 'missing', NULL, NULL); END IF;
    -- First, or the end of the holder would let it run.
    IF v_follow IS DISTINCT FROM v_id AND v_follow IS NOT NULL THEN
      v_job := duly.job_state(v_follow);
      IF v_job.id IS NOT NULL THEN PERFORM duly.cancel_job(p_now, v_job, p_mode, p_actor, p_note); END IF;
    END IF;
  END IF;
  v_job := duly.job_state(v_id);
  IF v_job.id IS NOT NULL THEN RETURN duly.cancel_job(p_now, v_job, p_mode, p_actor, p_note); END IF;
  v_item := duly.not_live(v_id);
  -- A repeat of a cancel that took effect.
  IF v_item ->> 'status' = 'CANCELLED' THEN
    RETURN duly.changed_item(v_id, 'unchanged', 'CANCELLED', (v_item ->> 'dueAt')::bigint);
  END IF;
  RETURN v_item;
END $$;

-- call: cancel
CREATE FUNCTION duly.cancel(p_now bigint, p_groups jsonb) RETURNS text LANGUAGE plpgsql
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
      v_items := v_items || duly.cancel_target(v_now, v_target, v_group ->> 'mode', v_group ->> 'actor', v_group ->> 'note');
    END LOOP;
    v_replies := v_replies || json_build_object('ok', true, 'items', array_to_json(v_items));
  END LOOP;
  RETURN json_build_object('now', v_now, 'notifications', duly.notifications(), 'groups', array_to_json(v_replies))::text;
END $$;
