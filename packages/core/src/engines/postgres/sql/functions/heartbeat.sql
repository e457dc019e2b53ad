-- Renews leases and writes beginnings. A row that is locked is being settled under its own fence, perhaps in somebody's long transaction:
-- told `kept`, not waited for. Or a reaper is just taking it over: that one is waited for, so that both say the same. A beginning that is not
-- written yet is never passed over: who is told `kept` starts the handler, and if the store did not know, a job that may start once would start again.
-- call: heartbeat
CREATE FUNCTION duly.heartbeat(p_now bigint, p_lease_ms bigint, p_leases jsonb) RETURNS text LANGUAGE plpgsql
SET lock_timeout = '2s'
SET plan_cache_mode = force_generic_plan SET jit = off SET enable_seqscan = off SET enable_bitmapscan = off
SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
  v_now bigint := duly.begin(p_now);
  -- Whose beginning is to be written, of those that are held under the fence they were sent with.
  v_begun text[] := ARRAY(
    SELECT b.id FROM jsonb_to_recordset(p_leases) AS b (id text, fence bigint, begun boolean)
    JOIN duly.leases l ON l.id = ANY (ARRAY[b.id]) AND l.fence = b.fence WHERE b.begun);
  v_rows tid[];
  v_held integer;
  v_answer json;
BEGIN
  -- First, while nothing else is held: as a rule another heartbeat of the same node has the row, and it is waited for (at most 2 s).
  PERFORM 1 FROM jsonb_to_recordset(p_leases) AS b (id text, fence bigint, begun boolean)
    JOIN duly.leases l ON l.id = ANY (ARRAY[b.id]) AND l.fence = b.fence
  WHERE b.begun AND l.begun_at IS NULL ORDER BY b.id FOR UPDATE OF l;
  SELECT array_agg(h.ctid) INTO v_rows FROM (
    SELECT l.ctid FROM jsonb_to_recordset(p_leases) AS b (id text, fence bigint)
    JOIN duly.leases l ON l.id = ANY (ARRAY[b.id]) AND l.fence = b.fence ORDER BY b.id FOR UPDATE OF l SKIP LOCKED) h;
  UPDATE duly.leases l SET until_at = v_now + p_lease_ms,
    begun_at = coalesce(l.begun_at, CASE WHEN l.id = ANY (v_begun) THEN v_now END)
  WHERE l.ctid = ANY (coalesce(v_rows, '{}'));
  GET DIAGNOSTICS v_held = ROW_COUNT;
  IF v_held < jsonb_array_length(p_leases) THEN PERFORM pg_advisory_xact_lock(hashtext('duly.reap')); END IF;
  -- null: lost; 0: kept; else when it was asked to cancel.
  SELECT json_agg(CASE WHEN l.id IS NOT NULL THEN coalesce(l.cancel_at, 0) END ORDER BY b.i) INTO v_answer
  FROM ROWS FROM (jsonb_to_recordset(p_leases) AS (id text, fence bigint)) WITH ORDINALITY AS b (id, fence, i)
  LEFT JOIN duly.leases l ON l.id = ANY (ARRAY[b.id]) AND l.fence = b.fence;
  RETURN json_build_object('now', v_now, 'leases', coalesce(v_answer, '[]'::json))::text;
END $$;
