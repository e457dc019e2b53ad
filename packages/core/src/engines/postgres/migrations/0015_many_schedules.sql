-- Making and firing many schedules.

-- Its first statement looked through all schedules for those it was given, so that each one cost more than the one before.
ALTER FUNCTION duly.apply_schedules_1 SET plan_cache_mode = force_generic_plan;
ALTER FUNCTION duly.apply_schedules_1 SET jit = off;
ALTER FUNCTION duly.apply_schedules_1 SET enable_seqscan = off;
ALTER FUNCTION duly.apply_schedules_1 SET enable_bitmapscan = off;
ALTER FUNCTION duly.apply_schedules_1 SET enable_hashjoin = off;
ALTER FUNCTION duly.apply_schedules_1 SET enable_mergejoin = off;

-- Was planned anew with every call, for two texts to be joined.
CREATE OR REPLACE FUNCTION duly.schedule_audit_1(s duly.schedules) RETURNS json LANGUAGE plpgsql AS $$
BEGIN
  RETURN json_build_object('version', s.version, 'spec', s.spec::json, 'dueAt', s.due_at);
END $$;

-- As fire_1, with a claim that answers what its jobs have in common once.
CREATE FUNCTION duly.fire_2(p_now bigint, p_node text, p_together jsonb, p_groups jsonb, p_claim jsonb, p_made text[])
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
    v_claimed := (duly.claim_2(v_now, p_claim, false)).claimed;
    -- Who took all of it wakes nobody for it.
    IF duly.took_all_1(v_claimed, p_made) THEN PERFORM duly.unhint_1('j'); END IF;
  END IF;
  RETURN json_build_object('now', v_now, 'hints', duly.hints_1(), 'groups', array_to_json(v_outcomes), 'claimed', v_claimed)::text;
END $$;
