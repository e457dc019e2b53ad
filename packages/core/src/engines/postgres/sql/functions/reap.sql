-- `p_ended_by`: takes over only leases that had ended at this instant; null: all that have ended.
-- call: reap
CREATE FUNCTION duly.reap(p_now bigint, p_lease_ms bigint, p_limit integer, p_ended_by bigint) RETURNS text LANGUAGE plpgsql
SET lock_timeout = '2s'
SET plan_cache_mode = force_generic_plan SET jit = off SET enable_seqscan = off SET enable_bitmapscan = off
SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
  v_now bigint := duly.begin(p_now);
  v_expired integer;
  v_promoted record;
  v_types text[];
  v_rows tid[];
  v_jobs json;
  v_count integer := 0;
  v_next bigint;
BEGIN
  v_expired := duly.expire_overdue(v_now, p_limit);
  WITH RECURSIVE waiting AS (
    (SELECT type FROM duly.jobs WHERE rank IS NULL AND status IN ('SCHEDULED', 'RETRYING') ORDER BY type LIMIT 1)
    UNION ALL
    SELECT n.type FROM waiting w CROSS JOIN LATERAL (
      SELECT j.type FROM duly.jobs j WHERE j.rank IS NULL AND j.status IN ('SCHEDULED', 'RETRYING') AND j.type > w.type
      ORDER BY j.type LIMIT 1) n)
  SELECT array_agg(type) INTO v_types FROM waiting;
  v_promoted := duly.promote(v_now, v_types, p_limit);
  PERFORM pg_advisory_xact_lock_shared(hashtext('duly.reap'));
  -- The narrow table is read whole.
  SELECT array_agg(o.ctid ORDER BY o.until_at, o.seq) INTO v_rows FROM (
    SELECT ctid, until_at, seq FROM duly.leases WHERE until_at <= least(v_now, p_ended_by) ORDER BY until_at, seq LIMIT p_limit FOR UPDATE SKIP LOCKED) o;
  IF v_rows IS NOT NULL THEN
    -- The attempt keeps its node and its beginning: the reaper settles it, it does not run it.
    WITH taken AS (
      UPDATE duly.leases l SET fence = nextval('duly.fence'), token = NULL, until_at = v_now + p_lease_ms
      FROM unnest(v_rows) WITH ORDINALITY AS r (tid, n) WHERE l.ctid = r.tid
      RETURNING l.id, l.fence, l.begun_at, r.n)
    SELECT json_build_object('columns', json_build_object({{job.claim | '%field', json_agg(j.%column) | , | fence='fence', json_agg(j.lease_fence)
      | begunAt='begun', json_agg(j.begun) | slot='slot', json_agg(j.slot), 'slotDetails', json_agg(j.slot_details)}})), count(*)
    INTO v_jobs, v_count FROM (
      SELECT j.*, t.fence AS lease_fence, t.begun_at IS NOT NULL AS begun FROM taken t JOIN duly.jobs j ON j.id = ANY (ARRAY[t.id])
      ORDER BY t.n) j;
  END IF;
  -- When the next lease or start deadline ends.
  SELECT least((SELECT min(until_at) FROM duly.leases),
    (SELECT expire_at + 1 FROM duly.jobs WHERE expire_at IS NOT NULL AND started_at IS NULL ORDER BY expire_at LIMIT 1)) INTO v_next;
  RETURN json_build_object('now', v_now, 'notifications', duly.notifications(), 'jobs', coalesce(v_jobs, '[]'::json), 'expired', v_expired,
    'promoted', v_promoted.moved, 'more', NOT v_promoted.is_all OR v_expired >= p_limit OR v_count >= p_limit, 'nextAt', v_next)::text;
END $$;
