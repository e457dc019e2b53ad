-- Leases due schedules, or those named, to one node. One fence for all that a claim takes: each of them had a smaller one before.
--
-- Nothing is written to the schedules themselves. Two claims cannot take the same one: each locks what it takes, passing over what others have
-- locked, and then looks whether somebody's lease was committed in between. A lease that has ended is taken over only by who can lock its
-- row: a decision that comes late locks it too, and either finds what is left of it or is waited for by nobody.
--
-- `l.fence > 0` is always true. It lets the planner read the leases by their index, so that no other choice of the statement looks cheap beside it.
-- call: claimSchedules
CREATE FUNCTION duly.claim_schedules(p_now bigint, p_node text, p_token text, p_limit integer, p_lease_ms bigint, p_ids jsonb)
RETURNS text LANGUAGE plpgsql
-- The memory is for the list of what is leased, which is looked up for every schedule that is due.
SET work_mem = '8MB' SET lock_timeout = '2s'
SET plan_cache_mode = force_generic_plan SET jit = off SET enable_seqscan = off SET enable_bitmapscan = off
SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
  v_now bigint := duly.begin(p_now);
  v_fence bigint;
  v_ids text[];
  v_versions bigint[];
  -- Leases that are there, and those of them that have ended and are ours to take over.
  v_seen bigint[];
  v_any_over boolean;
  v_over bigint[] := '{}';
  v_new bigint[];
  v_full boolean := false;
  v_last_due bigint := -9223372036854775808;
  v_last_seq bigint := 0;
  v_columns json;
  -- The specs, and then the states.
  v_texts text;
  v_any_waits boolean;
  v_runs json;
  v_counts json;
  v_waited json;
  v_next bigint;
  v_leased bigint;
BEGIN
  SELECT array_agg(l.fence), bool_or(l.until_at <= v_now) INTO v_seen, v_any_over FROM duly.schedule_leases l;
  IF v_seen IS NOT NULL THEN
    -- A repeat: what is still held of what it was given.
    SELECT l.fence, array_agg(s.id ORDER BY u.n) INTO v_fence, v_ids
    FROM duly.schedule_leases l CROSS JOIN LATERAL unnest(l.ids, l.versions) WITH ORDINALITY AS u (id, version, n)
    JOIN duly.schedules s ON s.id = ANY (ARRAY[u.id]) AND s.version = u.version
    WHERE l.token = p_token GROUP BY l.fence ORDER BY l.fence DESC LIMIT 1;
    v_full := coalesce(cardinality(v_ids), 0) >= p_limit;
  END IF;
  IF v_ids IS NULL THEN
    IF v_any_over THEN
      SELECT coalesce(array_agg(o.fence), '{}') INTO v_over FROM (
        SELECT l.fence FROM duly.schedule_leases l WHERE l.until_at <= v_now FOR UPDATE SKIP LOCKED) o;
    END IF;
    IF p_ids IS NULL THEN
      SELECT array_agg(d.id), array_agg(d.version), count(*) >= p_limit INTO v_ids, v_versions, v_full FROM (
        SELECT s.id, s.version FROM duly.schedules s
        WHERE s.due_at IS NOT NULL AND s.due_at <= v_now AND (v_seen IS NULL OR (s.id, s.version) NOT IN (
          SELECT u.id, u.version FROM duly.schedule_leases l CROSS JOIN LATERAL unnest(l.ids, l.versions) AS u (id, version)
          WHERE l.fence > 0 AND NOT l.fence = ANY (v_over)))
        ORDER BY s.due_at, s.seq LIMIT greatest(p_limit, 0) FOR UPDATE OF s SKIP LOCKED) d;
    ELSE
      SELECT array_agg(d.id ORDER BY d.n), array_agg(d.version ORDER BY d.n) INTO v_ids, v_versions FROM (
        SELECT s.id, s.version, i.n FROM jsonb_array_elements_text(p_ids) WITH ORDINALITY AS i (id, n)
        JOIN duly.schedules s ON s.id = ANY (ARRAY[i.id])
        WHERE i.n <= p_limit AND (v_seen IS NULL OR (s.id, s.version) NOT IN (
          SELECT u.id, u.version FROM duly.schedule_leases l CROSS JOIN LATERAL unnest(l.ids, l.versions) AS u (id, version)
          WHERE l.fence > 0 AND NOT l.fence = ANY (v_over)))
        FOR UPDATE OF s) d;
    END IF;
    IF v_ids IS NOT NULL THEN
      -- Whoever was given one of these before we locked it has committed by now.
      SELECT array_agg(l.fence) INTO v_new FROM duly.schedule_leases l WHERE NOT l.fence = ANY (coalesce(v_seen, '{}'));
      IF v_new IS NOT NULL THEN
        SELECT array_agg(t.id ORDER BY t.n), array_agg(t.version ORDER BY t.n) INTO v_ids, v_versions
        FROM unnest(v_ids, v_versions) WITH ORDINALITY AS t (id, version, n)
        WHERE (t.id, t.version) NOT IN (
          SELECT u.id, u.version FROM duly.schedule_leases l CROSS JOIN LATERAL unnest(l.ids, l.versions) AS u (id, version)
          WHERE l.fence = ANY (v_new));
      END IF;
    END IF;
    IF v_over <> '{}' THEN PERFORM duly.leave_leases(v_over, coalesce(v_ids, '{}')); END IF;
    IF v_ids IS NOT NULL THEN
      v_fence := nextval('duly.fence');
      INSERT INTO duly.schedule_leases (fence, token, node, until_at, ids, versions)
      VALUES (v_fence, p_token, p_node, v_now + p_lease_ms, v_ids, v_versions);
    END IF;
  END IF;
  IF v_ids IS NOT NULL THEN
    -- By columns, in the order in which verbs/schedules.ts reads them; one that is null is null for all. What follows counts
    -- by the place in v_ids, so the order is asked for: of two schedules the planner looks up the ids in either way round.
    SELECT json_build_array(json_agg(c.id), CASE WHEN count(c.app) > 0 THEN json_agg(c.app) END,
        CASE WHEN count(c.tenant) > 0 THEN json_agg(c.tenant) END, json_agg(c.name), json_agg(c.generation), json_agg(c.version),
        json_agg(c.due_at), CASE WHEN count(c.waits_for) > 0 THEN json_agg(c.waits_for) END,
        json_agg(c.created_at), json_agg(c.updated_at)), count(c.waits_for) > 0,
      -- No JSON holds this character as it is, so texts behind it need no escapes: to write them, and to read them, would be half of a claim.
      string_agg(c.spec, chr(30)) || chr(30) || string_agg(c.state, chr(30))
    INTO v_columns, v_any_waits, v_texts FROM (
      SELECT s.id, p.app, p.tenant, p.name, s.generation, s.version, replace(p.spec, chr(30), ' ') AS spec, replace(s.state, chr(30), ' ') AS state,
        s.due_at, s.waits_for, p.created_at, s.updated_at
      FROM unnest(v_ids) WITH ORDINALITY AS i (id, n)
      JOIN duly.schedules s ON s.id = ANY (ARRAY[i.id]) JOIN duly.specs p ON p.id = ANY (ARRAY[i.id]) ORDER BY i.n) c;
    SELECT json_agg(json_build_array(i.n - 1, r.id, r.status, r.slot_at, r.origin, r.due_at, r.cancel_requested_at) ORDER BY i.n, r.seq) INTO v_runs
    FROM unnest(v_ids) WITH ORDINALITY AS i (id, n) CROSS JOIN LATERAL (
      SELECT j.id, j.status, j.slot_at, j.origin, j.due_at, j.cancel_requested_at, j.seq FROM duly.jobs j
      WHERE j.schedule_id IS NOT NULL AND j.schedule_id = i.id AND NOT j.slot_allow ORDER BY j.seq LIMIT 10) r;
    IF v_runs IS NOT NULL THEN
      -- Fewer than the page holds are all there are.
      SELECT json_agg(json_build_array(f.n, (
          SELECT count(*) FROM duly.jobs j WHERE j.schedule_id IS NOT NULL AND j.schedule_id = v_ids[f.n + 1] AND NOT j.slot_allow)))
      INTO v_counts FROM (
        SELECT (r ->> 0)::integer AS n FROM json_array_elements(v_runs) r GROUP BY 1 HAVING count(*) >= 10) f;
    END IF;
    IF v_any_waits THEN
      SELECT json_agg(json_build_array(i.n - 1, h.id, h.status, h.finished_at)) INTO v_waited
      FROM unnest(v_ids) WITH ORDINALITY AS i (id, n) JOIN duly.schedules s ON s.id = ANY (ARRAY[i.id]) CROSS JOIN LATERAL (
        SELECT o.id, o.status, o.finished_at FROM (
          SELECT d.id, d.status, d.finished_at FROM duly.dead d WHERE d.id = s.waits_for
          UNION ALL SELECT d.id, d.status, d.finished_at FROM duly.finished d WHERE d.id = s.waits_for) o
        ORDER BY o.finished_at DESC LIMIT 1) h
      WHERE coalesce(s.waits_for IS NOT NULL, false);
    END IF;
  END IF;
  IF v_full AND p_ids IS NULL AND v_versions IS NOT NULL THEN
    -- All before the last one it took are taken, by this claim or by others.
    SELECT s.due_at, s.seq INTO v_last_due, v_last_seq FROM duly.schedules s WHERE s.id = v_ids[cardinality(v_ids)];
  END IF;
  SELECT s.due_at INTO v_next FROM duly.schedules s
  WHERE s.due_at IS NOT NULL AND (s.due_at, s.seq) > (v_last_due, v_last_seq)
    AND ((v_seen IS NULL AND v_fence IS NULL) OR (s.id, s.version) NOT IN (
      SELECT u.id, u.version FROM duly.schedule_leases l CROSS JOIN LATERAL unnest(l.ids, l.versions) AS u (id, version)
      WHERE l.fence > 0 AND NOT l.fence = ANY (v_over)))
  ORDER BY s.due_at, s.seq LIMIT 1;
  IF v_seen IS NOT NULL THEN
    -- Also when another claim's lease ends: whoever holds it may be dead, and then somebody else must decide.
    SELECT min(l.until_at) INTO v_leased FROM duly.schedule_leases l
    WHERE l.token <> p_token AND l.until_at > v_now AND EXISTS (
      SELECT 1 FROM unnest(l.ids, l.versions) AS u (id, version) JOIN duly.schedules s ON s.id = ANY (ARRAY[u.id]) AND s.version = u.version
      WHERE coalesce(s.due_at IS NOT NULL, false));
  END IF;
  RETURN json_build_object('now', v_now, 'fence', v_fence, 'columns', v_columns, 'runs', v_runs, 'counts', v_counts, 'waited', v_waited,
    'nextDueAt', least(v_next, v_leased), 'more', p_ids IS NULL AND v_full)::text || coalesce(chr(30) || v_texts, '');
END $$;
