-- A lone job that whoever makes it also takes, as with now() on a node that has nothing to do, is made as RUNNING: one row instead of two
-- versions of it, and a fourth of the statements.

-- Whether a claim would be given just this job: nothing else is ready, due, overdue or paused.
CREATE FUNCTION duly.takes_alone_1(p_now bigint, p_claim jsonb, p_type text, p_version integer, p_queue text) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
  RETURN (p_claim ->> 'limit')::integer > 0
    AND (jsonb_typeof(p_claim -> 'queues') <> 'array' OR p_claim -> 'queues' ? p_queue)
    AND EXISTS (
      SELECT 1 FROM jsonb_array_elements(p_claim -> 'tasks') t
      WHERE t ->> 'type' = p_type AND (t ->> 'version')::integer >= p_version AND (t ->> 'limit')::integer > 0)
    AND NOT EXISTS (SELECT 1 FROM duly.jobs WHERE rank IS NOT NULL)
    AND NOT EXISTS (SELECT 1 FROM duly.records WHERE kind = 'pause')
    AND NOT EXISTS (SELECT 1 FROM duly.left_places)
    AND NOT EXISTS (SELECT 1 FROM duly.jobs WHERE expire_at IS NOT NULL AND started_at IS NULL AND expire_at < p_now)
    AND NOT EXISTS (
      SELECT 1 FROM jsonb_array_elements(p_claim -> 'tasks') t CROSS JOIN LATERAL (
        SELECT 1 FROM duly.jobs j WHERE j.rank IS NULL AND j.status IN ('SCHEDULED', 'RETRYING') AND j.type = t ->> 'type' AND j.due_at <= p_now
        LIMIT 1) d);
END $$;

-- Plain jobs that differ in nothing but their input, made together, with a claim beside them; `p_shared` is what they have in common. Fails
-- (unique violation) where an id is there already: then the caller begins again with care.
CREATE OR REPLACE FUNCTION duly.enqueue_alike_1(p_now bigint, p_ids text[], p_inputs text[], p_shared jsonb, p_claim jsonb) RETURNS text LANGUAGE plpgsql
SET plan_cache_mode = force_generic_plan SET jit = off SET enable_seqscan = off SET enable_bitmapscan = off
SET enable_hashjoin = off SET enable_mergejoin = off SET lock_timeout = '2s' AS $$
DECLARE
  v_now bigint := duly.begin_1(p_now);
  s record;
  v_due bigint;
  v_rank bigint;
  v_status text;
  v_claimed json := '[]';
  v_fence bigint;
BEGIN
  SELECT * INTO s FROM jsonb_to_record(p_shared) AS s (
    type text, version integer, queue text, tenant text, priority integer, "rankOffsetMs" bigint, at bigint, "inMs" bigint,
    "startDeadlineMs" bigint, "maxAttempts" integer, origin text, "copyOf" text, policy text, "retentionMs" bigint,
    "deadRetentionMs" bigint, metadata text, input text);
  v_due := coalesce(s.at, v_now + s."inMs");
  v_status := CASE WHEN v_due <= v_now THEN 'PENDING' ELSE 'SCHEDULED' END;
  IF v_due <= v_now THEN v_rank := v_due + s."rankOffsetMs"; END IF;
  IF p_claim IS NOT NULL AND cardinality(p_ids) = 1 AND v_due <= v_now AND duly.takes_alone_1(v_now, p_claim, s.type, s.version, s.queue) THEN
    v_fence := nextval('duly.fence');
    WITH made AS (
      INSERT INTO duly.jobs (
        id, type, version, queue, tenant, priority, status, rank_offset, due_at, expire_at, created_at, updated_at, started_at, lateness_ms,
        fence, node, claimed_at, attempt, max_attempts, origin, copy_of, policy, retention_ms, dead_retention_ms, metadata, input)
      VALUES (p_ids[1], s.type, s.version, s.queue, s.tenant, s.priority, 'RUNNING', s."rankOffsetMs", v_due, v_due + s."startDeadlineMs",
        v_now, v_now, v_now, v_now - v_due, v_fence, p_claim ->> 'node', v_now, 1, s."maxAttempts", s.origin, s."copyOf", s.policy,
        s."retentionMs", s."deadRetentionMs", s.metadata, coalesce(p_inputs[1], s.input))
      RETURNING seq)
    INSERT INTO duly.leases (id, seq, fence, node, token, plain, until_at)
    SELECT p_ids[1], seq, v_fence, p_claim ->> 'node', p_claim ->> 'token', true, v_now + (p_claim ->> 'leaseMs')::bigint FROM made;
    INSERT INTO duly.changes (at, n, entries) VALUES
      (v_now, 1, json_build_array(p_ids, s.type, 'PENDING', 'made', 0)::text),
      (v_now, 1, json_build_array(p_ids, s.type, 'RUNNING', 'claimed', 0)::text);
    RETURN json_build_object('now', v_now, 'hints', duly.hints_1(), 'claimed', json_build_object(
      'columns', json_build_array(p_ids, json_build_array(v_fence), json_build_array(coalesce(p_inputs[1], s.input)), json_build_array(v_now),
        json_build_array(v_due), CASE WHEN s.tenant IS NOT NULL THEN json_build_array(s.tenant) END,
        CASE WHEN s.metadata IS NOT NULL THEN json_build_array(s.metadata) END, NULL, NULL),
      'claimedAt', v_now, 'type', s.type, 'version', s.version, 'queue', s.queue, 'priority', s.priority, 'policy', s.policy, 'attempt', 1,
      'spent', 0, 'maxAttempts', s."maxAttempts", 'losses', 0, 'begunLosses', 0, 'origin', s.origin))::text;
  END IF;
  INSERT INTO duly.jobs (
    id, type, version, queue, tenant, priority, status, rank, rank_offset, due_at, expire_at, created_at, updated_at,
    max_attempts, origin, copy_of, policy, retention_ms, dead_retention_ms, metadata, input)
  SELECT j.id, s.type, s.version, s.queue, s.tenant, s.priority, v_status, v_rank, s."rankOffsetMs", v_due, v_due + s."startDeadlineMs",
    v_now, v_now, s."maxAttempts", s.origin, s."copyOf", s.policy, s."retentionMs", s."deadRetentionMs", s.metadata, coalesce(j.input, s.input)
  FROM unnest(p_ids, p_inputs) AS j (id, input);
  INSERT INTO duly.changes (at, n, entries)
  VALUES (v_now, cardinality(p_ids), json_build_array(p_ids, s.type, v_status, 'made', 0)::text);
  IF p_claim IS NOT NULL THEN
    v_claimed := (duly.claim_2(v_now, p_claim, false)).claimed;
    -- Who took all of it wakes nobody for it.
    IF duly.took_all_1(v_claimed, p_ids) THEN
      RETURN json_build_object('now', v_now, 'claimed', v_claimed, 'hints', duly.hints_1())::text;
    END IF;
  END IF;
  RETURN json_build_object('now', v_now, 'claimed', v_claimed, 'hints', 'j' || replace(duly.hints_1(), 'j', ''))::text;
END $$;

-- Takes ready jobs by rank for one worker: first ends what is past its start deadline and promotes what is due.
-- `next_at`: when the next job of these tasks falls due, or a pause ends.
CREATE OR REPLACE FUNCTION duly.claim_2(
  p_now bigint, p_claim jsonb, p_repeat boolean, OUT claimed json, OUT more boolean, OUT solo_since bigint, OUT next_at bigint)
LANGUAGE plpgsql AS $$
DECLARE
  v_limit integer := (p_claim ->> 'limit')::integer;
  v_idle boolean := (p_claim ->> 'idle')::boolean;
  v_types text[];
  v_versions integer[];
  v_limits integer[];
  v_queues text[];
  v_paused text[];
  v_closed text[];
  v_pause_end bigint;
  v_all_promoted boolean := true;
  v_suspects boolean;
  v_row tid;
  v_rank bigint;
  v_head bigint;
  v_lanes text[];
  v_floors bigint[];
  v_last_rank bigint;
  v_rows tid[];
BEGIN
  claimed := '[]';
  more := false;
  IF p_repeat THEN
    SELECT duly.leased_1(array_agg(j.id ORDER BY j.fence), array_agg(j.fence ORDER BY j.fence), array_agg(j.begun ORDER BY j.fence))
    INTO claimed FROM (
      SELECT l.id, l.fence, l.begun_at IS NOT NULL AS begun FROM duly.leases l WHERE l.token = p_claim ->> 'token') j
    HAVING count(*) > 0;
    IF claimed IS NOT NULL THEN
      PERFORM duly.confirm_1();
      more := true;
      SELECT array_agg(t ->> 'type') INTO v_types FROM jsonb_array_elements(p_claim -> 'tasks') t;
      next_at := duly.next_due_1(v_types);
      IF v_types IS NOT NULL THEN next_at := least(next_at, (duly.pauses_1(p_now)).next_end_at); END IF;
      RETURN;
    END IF;
    claimed := '[]';
  END IF;
  -- Looks that cost little stand before calls that do more.
  IF EXISTS (SELECT 1 FROM duly.jobs WHERE expire_at IS NOT NULL AND started_at IS NULL AND expire_at < p_now) THEN
    PERFORM duly.expire_overdue_1(p_now, 1000);
  END IF;
  IF EXISTS (SELECT 1 FROM duly.left_places) THEN PERFORM duly.tidy_places_1(p_now); END IF;
  SELECT array_agg(t ->> 'type') INTO v_types FROM jsonb_array_elements(p_claim -> 'tasks') t;
  next_at := duly.next_due_1(v_types);
  IF next_at <= p_now THEN
    -- Some more than it takes, so that the most urgent of them is among what it sees.
    v_all_promoted := (duly.promote_1(p_now, v_types, greatest(1000, v_limit))).is_all;
    next_at := duly.next_due_1(v_types);
  END IF;
  SELECT coalesce(array_agg(p.key), '{}'), min(p.until_at) INTO v_paused, v_pause_end
  FROM (SELECT key, (value::json ->> 'untilAt')::bigint AS until_at FROM duly.records WHERE kind = 'pause') p
  WHERE p.until_at IS NULL OR p.until_at > p_now;
  IF v_types IS NOT NULL THEN next_at := least(next_at, v_pause_end); END IF;
  IF 'all' = ANY (v_paused) THEN RETURN; END IF;
  SELECT array_agg(t ->> 'type'), array_agg((t ->> 'version')::integer), array_agg((t ->> 'limit')::integer)
  INTO v_types, v_versions, v_limits
  FROM jsonb_array_elements(p_claim -> 'tasks') t
  WHERE (t ->> 'limit')::integer > 0 AND NOT 'task:' || (t ->> 'type') = ANY (v_paused);
  IF v_types IS NULL THEN RETURN; END IF;
  SELECT array_agg(substr(p, 7)) INTO v_closed FROM unnest(v_paused) p WHERE p LIKE 'queue:%';
  v_closed := coalesce(v_closed, '{}');
  IF jsonb_typeof(p_claim -> 'queues') = 'array' THEN
    SELECT coalesce(array_agg(q), '{}') INTO v_queues FROM jsonb_array_elements_text(p_claim -> 'queues') q;
  END IF;

  v_suspects := EXISTS (SELECT 1 FROM duly.jobs WHERE rank IS NOT NULL AND solo > 0 LIMIT 1);
  IF v_suspects THEN
    IF v_idle AND v_limit > 0 THEN
      SELECT j.ctid INTO v_row FROM duly.jobs j JOIN unnest(v_types, v_versions) AS t (type, version) ON j.type = t.type
      WHERE j.rank IS NOT NULL AND j.solo = 2 AND j.version <= t.version
        AND NOT j.queue = ANY (v_closed) AND (v_queues IS NULL OR j.queue = ANY (v_queues))
      ORDER BY j.rank, j.seq LIMIT 1 FOR UPDATE OF j SKIP LOCKED;
      IF v_row IS NOT NULL THEN
        claimed := duly.take_2(p_now, p_claim, ARRAY[v_row], NULL);
        more := true;
        RETURN;
      END IF;
    END IF;
    SELECT min(j.due_at) INTO solo_since FROM duly.jobs j
    WHERE j.rank IS NOT NULL AND j.solo = 2 AND j.type IN (
      SELECT o.type FROM duly.jobs o JOIN unnest(v_types, v_versions) AS t (type, version) ON o.type = t.type
      WHERE o.rank IS NOT NULL AND o.solo = 2 AND o.version <= t.version
        AND NOT o.queue = ANY (v_closed) AND (v_queues IS NULL OR o.queue = ANY (v_queues)));
  END IF;
  -- Takes nothing, and only asks whether a job still waits to run alone.
  IF v_limit <= 0 THEN RETURN; END IF;

  -- One that was lost before is claimed by itself, in its turn: when it stands at the head.
  IF v_suspects THEN
    SELECT j.ctid, j.rank INTO v_row, v_rank FROM duly.jobs j JOIN unnest(v_types, v_versions) AS t (type, version) ON j.type = t.type
    WHERE j.rank IS NOT NULL AND j.solo = 1 AND j.version <= t.version
      AND NOT j.queue = ANY (v_closed) AND (v_queues IS NULL OR j.queue = ANY (v_queues))
    ORDER BY j.rank, j.seq LIMIT 1 FOR UPDATE OF j SKIP LOCKED;
    IF v_row IS NOT NULL THEN
      SELECT min(j.rank) INTO v_head FROM duly.jobs j JOIN unnest(v_types, v_versions) AS t (type, version) ON j.type = t.type
      WHERE j.rank IS NOT NULL AND j.solo = 0 AND j.version <= t.version
        AND NOT j.queue = ANY (v_closed) AND (v_queues IS NULL OR j.queue = ANY (v_queues));
      IF v_head IS NULL OR v_rank <= v_head THEN
        claimed := duly.take_2(p_now, p_claim, ARRAY[v_row], NULL);
        more := true;
        RETURN;
      END IF;
    END IF;
  END IF;

  -- The lanes, by a loose scan: each step is one seek, however many jobs a lane holds. Each with its lowest rank: what is dead below it and
  -- cannot be removed yet, because somebody's transaction is old, is stepped over once.
  WITH RECURSIVE lane AS (
    SELECT w.type, w.version AS highest, w.n, f.version, f.queue, f.rank
    FROM unnest(v_types, v_versions, v_limits) AS w (type, version, n) CROSS JOIN LATERAL (
      SELECT j.version, j.queue, j.rank FROM duly.jobs j
      WHERE j.rank IS NOT NULL AND j.solo = 0 AND j.type = w.type AND j.version <= w.version
      ORDER BY j.version, j.queue, j.rank LIMIT 1) f
    UNION ALL
    SELECT l.type, l.highest, l.n, f.version, f.queue, f.rank
    FROM lane l CROSS JOIN LATERAL (
      SELECT j.version, j.queue, j.rank FROM duly.jobs j
      WHERE j.rank IS NOT NULL AND j.solo = 0 AND j.type = l.type AND j.version <= l.highest
        AND (j.version, j.queue) > (l.version, l.queue)
      ORDER BY j.version, j.queue, j.rank LIMIT 1) f)
  SELECT array_agg(l.type), array_agg(l.version), array_agg(l.queue), array_agg(l.n), array_agg(l.rank)
  INTO v_types, v_versions, v_lanes, v_limits, v_floors
  FROM lane l WHERE NOT l.queue = ANY (v_closed) AND (v_queues IS NULL OR l.queue = ANY (v_queues));

  IF cardinality(v_lanes) = 1 THEN
    -- As a rule.
    SELECT array_agg(t.ctid ORDER BY t.rank, t.seq), max(t.rank) INTO v_rows, v_last_rank FROM (
      SELECT j.ctid, j.rank, j.seq FROM duly.jobs j
      WHERE j.rank IS NOT NULL AND j.solo = 0 AND j.type = v_types[1] AND j.version = v_versions[1] AND j.queue = v_lanes[1]
        AND j.rank >= v_floors[1]
      ORDER BY j.rank, j.seq LIMIT least(v_limits[1], v_limit) FOR UPDATE SKIP LOCKED) t;
    IF v_rows IS NOT NULL THEN
      claimed := duly.take_2(p_now, p_claim, v_rows, v_types[1]);
      -- What was taken has left the index, so whatever is found from its last rank on is more.
      more := cardinality(v_rows) = v_limit AND EXISTS (SELECT 1 FROM duly.jobs j
        WHERE j.rank IS NOT NULL AND j.solo = 0 AND j.type = v_types[1] AND j.version = v_versions[1] AND j.queue = v_lanes[1]
          AND j.rank >= v_last_rank);
    END IF;
  ELSIF cardinality(v_lanes) > 1 THEN
    -- How many from which lane, unlocked, so it costs no one anything; then that many from each lane, passing over what others hold.
    -- To lock the heads of every lane and throw most away would hide them from the other workers.
    WITH lane AS (
      SELECT * FROM unnest(v_types, v_versions, v_lanes, v_limits, v_floors) AS l (type, version, queue, n, floor)),
    head AS (
      SELECT l.type, l.version, l.queue, l.n, l.floor, h.rank, h.seq, row_number() OVER (PARTITION BY l.type ORDER BY h.rank, h.seq) AS place
      FROM lane l CROSS JOIN LATERAL (
        SELECT j.rank, j.seq FROM duly.jobs j
        WHERE j.rank IS NOT NULL AND j.solo = 0 AND j.type = l.type AND j.version = l.version AND j.queue = l.queue AND j.rank >= l.floor
        ORDER BY j.rank, j.seq LIMIT least(l.n, v_limit) + 1) h),
    best AS (SELECT type, version, queue, floor, rank, seq FROM head WHERE place <= n ORDER BY rank, seq LIMIT v_limit),
    last AS (SELECT rank, seq FROM best ORDER BY rank DESC, seq DESC LIMIT 1),
    share AS (SELECT type, version, queue, floor, count(*) AS n FROM best GROUP BY type, version, queue, floor)
    SELECT array_agg(t.ctid ORDER BY t.rank, t.seq),
      (SELECT count(*) FROM best) = v_limit AND EXISTS (SELECT 1 FROM head h, last WHERE (h.rank, h.seq) > (last.rank, last.seq))
    INTO v_rows, more
    FROM share s CROSS JOIN LATERAL (
      SELECT j.ctid, j.rank, j.seq FROM duly.jobs j
      WHERE j.rank IS NOT NULL AND j.solo = 0 AND j.type = s.type AND j.version = s.version AND j.queue = s.queue AND j.rank >= s.floor
      ORDER BY j.rank, j.seq LIMIT s.n FOR UPDATE SKIP LOCKED) t;
    IF v_rows IS NOT NULL THEN claimed := duly.take_2(p_now, p_claim, v_rows, NULL); END IF;
  END IF;
  more := more OR v_row IS NOT NULL OR NOT v_all_promoted;
END $$;
