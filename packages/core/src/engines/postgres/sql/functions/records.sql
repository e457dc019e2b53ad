CREATE FUNCTION duly.record_json(r duly.records) RETURNS json LANGUAGE sql AS $$
  SELECT json_build_object('kind', r.kind, 'key', r.key, 'value', r.value, 'version', r.version, 'updatedAt', r.updated_at)
$$;

-- One operation on settings; answers the records it read or wrote, as a list.
CREATE FUNCTION duly.apply_record_op(p_now bigint, p_actor text, p_op jsonb) RETURNS json LANGUAGE plpgsql AS $$
DECLARE
  v_kind text := p_op ->> 'kind';
  v_key text := p_op ->> 'key';
  v_before duly.records;
  v_after duly.records;
  v_list json;
BEGIN
  IF p_op ->> 'op' = 'list' THEN
    SELECT json_agg(duly.record_json(l) ORDER BY l.key) INTO v_list FROM (
      SELECT * FROM duly.records WHERE kind = v_kind AND key > coalesce(p_op ->> 'after', '') ORDER BY key LIMIT (p_op ->> 'limit')::bigint) l;
    RETURN coalesce(v_list, '[]'::json);
  END IF;
  IF p_op ->> 'op' = 'get' THEN
    SELECT * INTO v_before FROM duly.records WHERE kind = v_kind AND key = v_key;
    RETURN CASE WHEN v_before.key IS NULL THEN '[]'::json ELSE json_build_array(duly.record_json(v_before)) END;
  END IF;
  SELECT * INTO v_before FROM duly.records WHERE kind = v_kind AND key = v_key FOR UPDATE;
  IF p_op ? 'expectVersion' AND v_before.version IS DISTINCT FROM (p_op ->> 'expectVersion')::bigint THEN
    PERFORM duly.refuse('records_conflict', format('The %s "%s" is at version %s, not %s.', v_kind, v_key,
      coalesce(v_before.version::text, 'none'), coalesce(p_op ->> 'expectVersion', 'none')),
      'Someone changed it meanwhile. Read it again and repeat the change.', json_build_object('kind', v_kind, 'key', v_key));
  END IF;
  IF p_op ->> 'op' = 'put' THEN
    INSERT INTO duly.records AS r (kind, key, value, version, updated_at) VALUES (v_kind, v_key, p_op ->> 'value', 1, p_now)
    -- Somebody else may have made it since we looked; then only who does not care may write.
    ON CONFLICT (kind, key) DO UPDATE SET value = excluded.value, version = r.version + 1, updated_at = excluded.updated_at
    WHERE NOT p_op ? 'expectVersion' OR r.version IS NOT DISTINCT FROM v_before.version
    RETURNING * INTO v_after;
    IF NOT FOUND THEN
      PERFORM duly.refuse('records_conflict', format('The %s "%s" was created by someone else at the same time.', v_kind, v_key),
        'Read it again and repeat the change.', json_build_object('kind', v_kind, 'key', v_key));
    END IF;
  ELSE
    DELETE FROM duly.records WHERE kind = v_kind AND key = v_key;
  END IF;
  -- The position of a program changes all the time, and nobody decided it. A session changes no work, and any read key may begin one.
  IF v_kind NOT IN ('cursor', 'session') THEN
    PERFORM duly.audit(p_now, p_actor, p_op ->> 'op', 'record:' || v_kind || '/' || v_key, v_before.value::json, v_after.value::json, NULL);
  END IF;
  -- A resumed queue has work again.
  IF v_kind = 'pause' THEN PERFORM duly.add_notification('j'); END IF;
  RETURN CASE WHEN v_after.key IS NULL THEN '[]'::json ELSE json_build_array(duly.record_json(v_after)) END;
END $$;

-- call: records
CREATE FUNCTION duly.records(p_now bigint, p_groups jsonb) RETURNS text LANGUAGE plpgsql
SET lock_timeout = '2s'
SET plan_cache_mode = force_generic_plan SET jit = off SET enable_seqscan = off SET enable_bitmapscan = off
SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
  v_now bigint := duly.begin(p_now);
  v_group jsonb;
  v_op jsonb;
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
      FOR v_op IN SELECT * FROM jsonb_array_elements(v_group -> 'ops') LOOP
        v_items := v_items || duly.apply_record_op(v_now, v_group ->> 'actor', v_op);
      END LOOP;
      v_replies := v_replies || json_build_object('ok', true, 'items', array_to_json(v_items));
    EXCEPTION WHEN SQLSTATE 'DU001' OR SQLSTATE 'DU002' THEN
      GET STACKED DIAGNOSTICS v_state = RETURNED_SQLSTATE, v_message = MESSAGE_TEXT, v_hint = PG_EXCEPTION_HINT, v_detail = PG_EXCEPTION_DETAIL;
      v_replies := v_replies || duly.refusal(v_state, v_message, v_hint, v_detail);
    END;
  END LOOP;
  RETURN json_build_object('now', v_now, 'notifications', duly.notifications(), 'groups', array_to_json(v_replies))::text;
END $$;
