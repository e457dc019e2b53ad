-- A clean-up that is no longer wanted. One whose value is gone already runs all the same: at least once.
CREATE FUNCTION duly.drop_cleanup(p_now bigint, p_actor text, p_id text, p_why text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE v_job duly.jobs;
BEGIN
  IF p_id IS NULL THEN RETURN; END IF;
  v_job := duly.job_state(p_id);
  IF v_job.id IS NOT NULL THEN PERFORM duly.cancel_job(p_now, v_job, 'ask', p_actor, 'value ' || p_why); END IF;
END $$;

CREATE FUNCTION duly.put_value(p_now bigint, p_actor text, p_change jsonb) RETURNS json LANGUAGE plpgsql AS $$
DECLARE
  v_op text := p_change ->> 'op';
  v_name text := p_change ->> 'name';
  v_key text := p_change ->> 'key';
  v_row duly.expirings;
  v_there boolean;
  v_known record;
  v_expires bigint := duly.due_of(p_now, nullif(p_change -> 'due', 'null'));
  v_cleanup jsonb := nullif(p_change -> 'cleanup', 'null');
  v_job duly.jobs;
BEGIN
  SELECT * INTO v_row FROM duly.expirings WHERE name = v_name AND key = v_key FOR UPDATE;
  v_there := FOUND AND v_row.expires_at > p_now;
  IF v_op = 'put' THEN
    IF v_cleanup IS NOT NULL THEN
      v_known := duly.find_known(v_cleanup ->> 'id');
      -- A repeat: the value was put, and what happened to it since stands.
      IF v_known.status IS NOT NULL THEN
        PERFORM duly.refuse_type(v_cleanup, v_known.type);
        PERFORM duly.confirm();
        RETURN json_build_object('result', 'changed', 'expiresAt',
          CASE WHEN v_row.cleanup_id = v_cleanup ->> 'id' THEN v_row.expires_at ELSE v_expires END);
      END IF;
    END IF;
    IF v_there THEN PERFORM duly.drop_cleanup(p_now, p_actor, v_row.cleanup_id, 'replaced'); END IF;
    IF v_cleanup IS NOT NULL THEN
      PERFORM duly.create_job(p_now, (v_cleanup - 'inMs') || jsonb_build_object('at', v_expires), false);
    END IF;
    INSERT INTO duly.expirings (name, key, value, expires_at, cleanup_id)
    VALUES (v_name, v_key, p_change ->> 'value', v_expires, v_cleanup ->> 'id')
    ON CONFLICT (name, key) DO UPDATE SET value = excluded.value, expires_at = excluded.expires_at, cleanup_id = excluded.cleanup_id;
    RETURN json_build_object('result', 'changed', 'expiresAt', v_expires);
  END IF;
  IF NOT v_there THEN RETURN json_build_object('result', 'missing', 'expiresAt', NULL); END IF;
  IF v_op = 'delete' THEN
    PERFORM duly.drop_cleanup(p_now, p_actor, v_row.cleanup_id, 'deleted');
    DELETE FROM duly.expirings WHERE name = v_name AND key = v_key;
    PERFORM duly.audit(p_now, p_actor, 'delete', 'value:' || v_name || '/' || v_key, json_build_object('expiresAt', v_row.expires_at), NULL, NULL);
    RETURN json_build_object('result', 'changed', 'expiresAt', NULL);
  END IF;
  UPDATE duly.expirings SET expires_at = v_expires WHERE name = v_name AND key = v_key;
  IF v_row.cleanup_id IS NOT NULL THEN
    v_job := duly.job_state(v_row.cleanup_id);
    IF v_job.id IS NOT NULL AND v_job.status <> 'RUNNING' THEN PERFORM duly.move_due(p_now, v_job, v_expires, 'rescheduled'); END IF;
  END IF;
  PERFORM duly.audit(p_now, p_actor, 'extend', 'value:' || v_name || '/' || v_key, json_build_object('expiresAt', v_row.expires_at),
    json_build_object('expiresAt', v_expires), NULL);
  RETURN json_build_object('result', 'changed', 'expiresAt', v_expires);
END $$;

-- call: putExpiring
CREATE FUNCTION duly.put_expiring(p_now bigint, p_groups jsonb) RETURNS text LANGUAGE plpgsql
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
  FOR v_group IN SELECT * FROM jsonb_array_elements(p_groups) LOOP
    BEGIN
      v_items := '{}';
      FOR v_change IN SELECT * FROM jsonb_array_elements(v_group -> 'changes') LOOP
        v_items := v_items || duly.put_value(v_now, v_group ->> 'actor', v_change);
      END LOOP;
      v_replies := v_replies || json_build_object('ok', true, 'items', array_to_json(v_items));
    EXCEPTION WHEN SQLSTATE 'DU001' OR SQLSTATE 'DU002' THEN
      GET STACKED DIAGNOSTICS v_state = RETURNED_SQLSTATE, v_message = MESSAGE_TEXT, v_hint = PG_EXCEPTION_HINT, v_detail = PG_EXCEPTION_DETAIL;
      v_replies := v_replies || duly.refusal(v_state, v_message, v_hint, v_detail);
    END;
  END LOOP;
  RETURN json_build_object('now', v_now, 'notifications', duly.notifications(), 'groups', array_to_json(v_replies))::text;
END $$;
