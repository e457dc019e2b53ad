-- call: nodes
CREATE FUNCTION duly.nodes(p_now bigint, p_heartbeat_id text, p_heartbeat text, p_leave text, p_drain text, p_actor text, p_forget_ms bigint)
RETURNS text LANGUAGE plpgsql
SET lock_timeout = '2s'
SET plan_cache_mode = force_generic_plan SET jit = off SET enable_seqscan = off SET enable_bitmapscan = off
SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
  v_now bigint := duly.begin(p_now);
  v_nodes json;
BEGIN
  IF p_heartbeat_id IS NOT NULL THEN
    INSERT INTO duly.nodes (id, info, heartbeat_at) VALUES (p_heartbeat_id, p_heartbeat, v_now)
    ON CONFLICT (id) DO UPDATE SET info = excluded.info, heartbeat_at = excluded.heartbeat_at;
  END IF;
  IF p_leave IS NOT NULL THEN DELETE FROM duly.nodes WHERE id = p_leave; END IF;
  IF p_drain IS NOT NULL THEN
    UPDATE duly.nodes SET drain_requested_at = coalesce(drain_requested_at, v_now) WHERE id = p_drain;
    IF FOUND THEN PERFORM duly.audit(v_now, p_actor, 'drain', 'node:' || p_drain, NULL, NULL, NULL); END IF;
  END IF;
  -- Whoever only looks does not write.
  IF p_heartbeat_id IS NOT NULL OR p_leave IS NOT NULL OR p_drain IS NOT NULL THEN
    DELETE FROM duly.nodes WHERE ctid = ANY (ARRAY(
      SELECT ctid FROM duly.nodes WHERE heartbeat_at < v_now - p_forget_ms ORDER BY id FOR UPDATE SKIP LOCKED));
  END IF;
  SELECT json_agg(json_build_object('info', info, 'heartbeatAt', heartbeat_at, 'drainRequestedAt', drain_requested_at) ORDER BY id) INTO v_nodes
  FROM duly.nodes WHERE heartbeat_at >= v_now - p_forget_ms;
  RETURN json_build_object('now', v_now, 'nodes', coalesce(v_nodes, '[]'::json))::text;
END $$;
