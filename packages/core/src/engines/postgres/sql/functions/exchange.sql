-- Settling and claiming in one call.

-- Settles attempts, and returns the places of those that were lost. The parameters are those of exchange.
CREATE FUNCTION duly.settle_all(
  p_now bigint, p_ids text[], p_fences bigint[], p_results text[], p_places bigint[], p_settle jsonb, p_repeat boolean
) RETURNS bigint[] LANGUAGE plpgsql AS $$
DECLARE
  v_done bigint[] := '{}';
  v_lost bigint[] := '{}';
  v_settle jsonb := p_settle;
  v_one jsonb;
BEGIN
  IF p_ids IS NOT NULL THEN
    -- Those who wait for one of them will want their serial places.
    IF EXISTS (SELECT 1 FROM duly.gates) THEN
      PERFORM duly.lock_serials(ARRAY(
        SELECT duly.serial_ref(w.tenant, w.serial) FROM duly.gates g JOIN duly.jobs w ON w.id = ANY (ARRAY[g.job])
        WHERE g.ref = ANY (p_ids) AND g.kind <> 'serial' AND w.serial IS NOT NULL));
    END IF;
    v_done := duly.settle_returned(p_now, p_ids, p_fences, p_results);
    IF cardinality(v_done) < cardinality(p_ids) THEN
      -- What could not be ended together is judged by itself, in its place.
      SELECT coalesce(v_settle, '[]') || jsonb_agg(jsonb_build_object('id', s.id, 'fence', s.fence, 'to', 'COMPLETED', 'reason', 'returned',
        'spends', true, 'started', true, 'loss', 'none', 'result', s.result, 'i', coalesce(s.place, s.i - 1))) INTO v_settle
      FROM unnest(p_ids, p_fences, p_results, p_places) WITH ORDINALITY AS s (id, fence, result, place, i) WHERE NOT s.i = ANY (v_done);
    END IF;
  END IF;
  IF v_settle IS NOT NULL THEN
    PERFORM duly.lock_dependents(ARRAY(SELECT s ->> 'id' FROM jsonb_array_elements(v_settle) s));
    FOR v_one IN SELECT s FROM jsonb_array_elements(v_settle) s ORDER BY (s ->> 'i')::bigint LOOP
      IF NOT duly.settle(p_now, v_one, p_repeat) THEN v_lost := v_lost || (v_one ->> 'i')::bigint; END IF;
    END LOOP;
  END IF;
  RETURN v_lost;
END $$;

-- `p_ids` …: attempts that returned and used one up, with their places in the caller's list (null: as they stand); `p_settle`: the
-- others, each with its place.
-- call: exchange
CREATE FUNCTION duly.exchange(
  p_now bigint, p_ids text[], p_fences bigint[], p_results text[], p_places bigint[], p_settle jsonb, p_claim jsonb, p_repeat boolean
) RETURNS text LANGUAGE plpgsql
SET lock_timeout = '2s'
SET plan_cache_mode = force_generic_plan SET jit = off SET enable_seqscan = off SET enable_bitmapscan = off
SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
  -- As begin does, but this call has a transaction of its own, in which nothing was notified before.
  v_now bigint := coalesce(p_now, floor(extract(epoch FROM statement_timestamp()) * 1000)::bigint);
  v_lost bigint[];
  v_claim record;
BEGIN
  IF p_ids IS NOT NULL OR p_settle IS NOT NULL THEN
    v_lost := duly.settle_all(v_now, p_ids, p_fences, p_results, p_places, p_settle, p_repeat);
  END IF;
  IF p_claim IS NULL THEN
    RETURN json_build_object('now', v_now, 'notifications', duly.notifications(), 'lost', coalesce(to_json(v_lost), '[]'), 'claimed', '[]'::json,
      'more', false, 'soloSinceAt', NULL, 'nextDueAt', NULL)::text;
  END IF;
  v_claim := duly.claim(v_now, p_claim, p_repeat);
  RETURN json_build_object('now', v_now, 'notifications', duly.notifications(), 'lost', coalesce(to_json(v_lost), '[]'), 'claimed', v_claim.claimed,
    'more', v_claim.more, 'soloSinceAt', v_claim.solo_since, 'nextDueAt', v_claim.next_at, 'scan', v_claim.scan)::text;
END $$;
