-- Claiming jobs. A lane is (solo, type, version, queue); its ready jobs are one stretch of the index jobs_ready, by rank.
--
-- Jobs under lease are returned by columns: a list for every job would cost more than the claim. [] is none.

-- What is paused at an instant, and when the next pause ends by itself.
CREATE FUNCTION duly.pauses(p_now bigint, OUT paused text[], OUT next_end_at bigint) LANGUAGE sql STABLE AS $$
  SELECT coalesce(array_agg(p.key), '{}'), min(p.until_at)
  FROM (SELECT key, (value::json ->> 'untilAt')::bigint AS until_at FROM duly.records WHERE kind = 'pause') p
  WHERE p.until_at IS NULL OR p.until_at > p_now
$$;

-- Live jobs under lease by columns, in the order in which verbs/claim.ts reads them.
CREATE FUNCTION duly.leased(p_ids text[], p_fences bigint[], p_begun boolean[]) RETURNS json LANGUAGE plpgsql AS $$
BEGIN
  RETURN (SELECT json_build_array({{job.claim | json_agg(j.%column) | , | fence=json_agg(j.lease_fence) | begunAt=json_agg(j.begun)
      | slot=json_agg(j.slot), json_agg(j.slot_details)}})
    FROM (
      SELECT j.*, l.fence AS lease_fence, l.begun FROM unnest(p_ids, p_fences, p_begun) WITH ORDINALITY AS l (id, fence, begun, n)
      JOIN duly.jobs j ON j.id = ANY (ARRAY[l.id]) ORDER BY l.n) j);
END $$;

-- Leases the jobs of these rows, which are locked, to one worker; they are given fences in this order. `p_type`: of all of them, if they
-- have one. Jobs that are taken together differ in little as a rule: then the answer says the rest once, as an object. Otherwise it is
-- that of leased.
CREATE FUNCTION duly.take(p_now bigint, p_claim jsonb, p_rows tid[], p_type text) RETURNS json LANGUAGE plpgsql AS $$
DECLARE
  v_first duly.jobs;
  v_node text := p_claim ->> 'node';
  v_token text := p_claim ->> 'token';
  v_at bigint := duly.after_lock(p_now);
  v_until bigint := v_at + (p_claim ->> 'leaseMs')::bigint;
  v_ids text[];
  v_fences bigint[];
  v_types text[];
  v_odd bigint;
  v_columns json;
BEGIN
  SELECT * INTO v_first FROM duly.jobs WHERE ctid = p_rows[1];
  WITH taken AS (
    UPDATE duly.jobs j SET
      status = 'RUNNING', rank = NULL, fence = nextval('duly.fence'), node = v_node, claimed_at = v_at, updated_at = v_at, begun_at = NULL,
      attempt = j.attempt + 1, started_at = coalesce(j.started_at, v_at),
      lateness_ms = coalesce(j.lateness_ms, greatest(0, v_at - j.due_at)),
      percent = 0, message = NULL, step = NULL, step_of = NULL
    FROM unnest(p_rows) WITH ORDINALITY AS r (tid, n) WHERE j.ctid = r.tid
    RETURNING r.n, j.seq, j.type, j.slot_details, {{job.claim -shared -begunAt -parentId -parentKey | j.%column}},
      j.dedupe_key IS NULL AND j.serial IS NULL AS plain,
      {{job.claim +shared -claimedAt -policy | j.%column %differs v_first.%column | OR | attempt=j.attempt <> v_first.attempt + 1}}
        OR j.parent_id IS NOT NULL OR j.cancel_requested_at IS NOT NULL OR j.policy <> v_first.policy AS odd),
  leased AS (
    INSERT INTO duly.leases (id, seq, fence, node, token, plain, until_at, cancel_at)
    SELECT id, seq, fence, v_node, v_token, plain, v_until, cancel_requested_at FROM taken)
  SELECT array_agg(id), array_agg(fence), array_agg(type) FILTER (WHERE p_type IS NULL), count(*) FILTER (WHERE odd),
    json_build_array({{job.claimColumns | CASE WHEN count(%column) > 0 THEN json_agg(%column) END | ,
      | id=json_agg(id) | fence=json_agg(fence) | input=json_agg(input) | createdAt=json_agg(created_at) | dueAt=json_agg(due_at)
      | slot=CASE WHEN count(slot) > 0 THEN json_agg(slot) END, CASE WHEN count(slot_details) > 0 THEN json_agg(slot_details) END}})
  -- In their order, which is asked for: the planner may come to the rows in that of the table.
  INTO v_ids, v_fences, v_types, v_odd, v_columns FROM (SELECT * FROM taken ORDER BY n) t;
  IF v_ids IS NULL THEN RETURN '[]'; END IF;
  INSERT INTO duly.changes (at, n, entries) VALUES (v_at, cardinality(v_ids),
    json_build_array(v_ids, CASE WHEN p_type IS NULL THEN to_json(v_types) ELSE to_json(p_type) END, 'RUNNING', 'claimed', 0)::text);
  IF v_odd > 0 THEN RETURN duly.leased(v_ids, v_fences, array_fill(false, ARRAY[cardinality(v_ids)])); END IF;
  RETURN json_build_object('columns', v_columns, 'claimedAt', v_at, 
    {{job.claim +shared -claimedAt | '%field', v_first.%column | , | attempt='attempt', v_first.attempt + 1}});
END $$;

-- When the next job of these types falls due, of those that are due at `p_from` or later.
CREATE FUNCTION duly.next_due(p_types text[], p_from bigint) RETURNS bigint LANGUAGE plpgsql AS $$
BEGIN
  RETURN (SELECT min(n.due_at) FROM unnest(p_types) AS t (type) CROSS JOIN LATERAL (
    SELECT j.due_at FROM duly.jobs j WHERE j.rank IS NULL AND j.status IN ('SCHEDULED', 'RETRYING') AND j.type = t.type
      AND j.due_at >= p_from
    ORDER BY j.due_at, j.seq LIMIT 1) n);
END $$;

-- How many pages of live jobs this transaction has read so far, counted and not timed: on a busy machine the clock tells who else was running.
CREATE FUNCTION duly.pages_read() RETURNS bigint LANGUAGE plpgsql AS $$
BEGIN
  RETURN pg_stat_get_xact_blocks_fetched('duly.jobs'::regclass);
END $$;

-- Takes ready jobs by rank for one worker: first ends what is past its start deadline and promotes what is due.
-- `next_at`: when the next job of these tasks falls due, or a pause ends.
--
-- While somebody's transaction is old, what is long gone stays in the indexes, below the living. A look from the bottom then reads more and
-- more pages, and says so: `scan` tells how many, and in which lanes the lowest living rank stands where. Whoever is told may ask with
-- `floors` the next time: only in these lanes, and not below. What is below a floor all the same is found by the next look from the bottom.
CREATE FUNCTION duly.claim(
  p_now bigint, p_claim jsonb, p_repeat boolean, OUT claimed json, OUT more boolean, OUT solo_since bigint, OUT next_at bigint, OUT scan json)
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
  v_all_expired boolean := true;
  v_overdue boolean := false;
  v_suspects boolean;
  v_row tid;
  v_rank bigint;
  v_lanes text[];
  v_scan_hints bigint[];
  v_last_rank bigint;
  v_rows tid[];
  v_floor jsonb := p_claim -> 'scanHints';
  v_from bigint := coalesce((v_floor ->> 'dueAt')::bigint, -9223372036854775808);
  v_read bigint := duly.pages_read();
BEGIN
  claimed := '[]';
  more := false;
  IF p_repeat THEN
    SELECT duly.leased(array_agg(j.id ORDER BY j.fence), array_agg(j.fence ORDER BY j.fence), array_agg(j.begun ORDER BY j.fence))
    INTO claimed FROM (
      SELECT l.id, l.fence, l.begun_at IS NOT NULL AS begun FROM duly.leases l WHERE l.token = p_claim ->> 'token') j
    HAVING count(*) > 0;
    IF claimed IS NOT NULL THEN
      PERFORM duly.confirm();
      more := true;
      SELECT array_agg(t ->> 'type') INTO v_types FROM jsonb_array_elements(p_claim -> 'tasks') t;
      next_at := duly.next_due(v_types, v_from);
      IF v_types IS NOT NULL THEN next_at := least(next_at, (duly.pauses(p_now)).next_end_at); END IF;
      RETURN;
    END IF;
    claimed := '[]';
  END IF;
  -- Looks that cost little stand before calls that do more.
  IF EXISTS (SELECT 1 FROM duly.jobs WHERE expire_at IS NOT NULL AND started_at IS NULL AND expire_at < p_now) THEN
    v_all_expired := duly.expire_overdue(p_now, 1000) < 1000;
    -- More than it ends, or such as others hold just now: it passes over them.
    v_overdue := EXISTS (SELECT 1 FROM duly.jobs WHERE expire_at IS NOT NULL AND started_at IS NULL AND expire_at < p_now);
  END IF;
  IF EXISTS (SELECT 1 FROM duly.left_places) THEN PERFORM duly.tidy_places(p_now); END IF;
  SELECT array_agg(t ->> 'type') INTO v_types FROM jsonb_array_elements(p_claim -> 'tasks') t;
  next_at := duly.next_due(v_types, v_from);
  v_read := duly.pages_read() - v_read;
  IF next_at <= p_now THEN
    -- Some more than it takes, so that the most urgent of them is among what it sees.
    v_all_promoted := (duly.promote(p_now, v_types, greatest(1000, v_limit), v_from)).is_all;
    next_at := duly.next_due(v_types, v_from);
  END IF;
  SELECT coalesce(array_agg(p.key), '{}'), min(p.until_at) INTO v_paused, v_pause_end
  FROM (SELECT key, (value::json ->> 'untilAt')::bigint AS until_at FROM duly.records WHERE kind = 'pause') p
  WHERE p.until_at IS NULL OR p.until_at > p_now;
  IF v_types IS NOT NULL THEN next_at := least(next_at, v_pause_end); END IF;
  IF 'all' = ANY (v_paused) THEN RETURN; END IF;
  SELECT array_agg(t ->> 'type'), array_agg((t ->> 'version')::integer), array_agg((t ->> 'limit')::integer)
  INTO v_types, v_versions, v_limits
  FROM jsonb_array_elements(p_claim -> 'tasks') t
  WHERE (t ->> 'limit')::integer > 0 AND NOT 'type:' || (t ->> 'type') = ANY (v_paused);
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
        claimed := duly.take(p_now, p_claim, ARRAY[v_row], NULL);
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
  -- Takes nothing, and only asks what is there.
  IF v_limit <= 0 THEN
    more := EXISTS (
      SELECT 1 FROM unnest(v_types, v_versions) AS t (type, version) CROSS JOIN unnest('{0,1,2}'::smallint[]) AS s (solo) CROSS JOIN LATERAL (
        SELECT 1 FROM duly.jobs j WHERE j.rank IS NOT NULL AND j.solo = s.solo AND j.type = t.type AND j.version <= t.version
          AND NOT j.queue = ANY (v_closed) AND (v_queues IS NULL OR j.queue = ANY (v_queues)) LIMIT 1) r);
    RETURN;
  END IF;

  -- One that was lost before is claimed by itself, in its turn: when it stands at the head.
  IF v_suspects THEN
    SELECT j.ctid, j.rank INTO v_row, v_rank FROM duly.jobs j JOIN unnest(v_types, v_versions) AS t (type, version) ON j.type = t.type
    WHERE j.rank IS NOT NULL AND j.solo = 1 AND j.version <= t.version
      AND NOT j.queue = ANY (v_closed) AND (v_queues IS NULL OR j.queue = ANY (v_queues))
    ORDER BY j.rank, j.seq LIMIT 1 FOR UPDATE OF j SKIP LOCKED;
    IF v_row IS NOT NULL THEN
      IF NOT EXISTS (
        SELECT 1 FROM unnest(v_types, v_versions) AS t (type, version) CROSS JOIN LATERAL (
          SELECT 1 FROM duly.jobs j WHERE j.rank IS NOT NULL AND j.solo = 0 AND j.type = t.type AND j.version <= t.version AND j.rank < v_rank
            AND NOT j.queue = ANY (v_closed) AND (v_queues IS NULL OR j.queue = ANY (v_queues)) LIMIT 1) r)
      THEN
        claimed := duly.take(p_now, p_claim, ARRAY[v_row], NULL);
        more := true;
        RETURN;
      END IF;
    END IF;
  END IF;

  v_read := v_read - duly.pages_read();
  IF v_floor IS NULL THEN
    -- The lanes, by a loose scan: each step is one seek, however many jobs a lane holds. Each with its lowest rank: what is dead below it and
    -- cannot be removed yet is stepped over once.
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
    INTO v_types, v_versions, v_lanes, v_limits, v_scan_hints FROM lane l;
  ELSE
    SELECT array_agg(w.type), array_agg(l.version), array_agg(l.queue), array_agg(w.n), array_agg(f.rank)
    INTO v_types, v_versions, v_lanes, v_limits, v_scan_hints
    FROM unnest(v_types, v_versions, v_limits) AS w (type, version, n)
    JOIN jsonb_to_recordset(v_floor -> 'lanes') AS l (type text, version integer, queue text, rank bigint)
      ON l.type = w.type AND l.version <= w.version
    CROSS JOIN LATERAL (
      SELECT j.rank FROM duly.jobs j
      WHERE j.rank IS NOT NULL AND j.solo = 0 AND j.type = l.type AND j.version = l.version AND j.queue = l.queue AND j.rank >= l.rank
      ORDER BY j.rank LIMIT 1) f;
  END IF;
  v_read := v_read + duly.pages_read();
  IF v_floor IS NOT NULL OR v_read > 300 THEN
    scan := json_build_object('isFull', v_floor IS NULL, 'pages', v_read, 'isAllPromoted', v_all_promoted, 'lanes', (
      SELECT coalesce(json_agg(json_build_object('type', l.type, 'version', l.version, 'queue', l.queue, 'rank', l.rank)), '[]')
      FROM unnest(v_types, v_versions, v_lanes, v_scan_hints) AS l (type, version, queue, rank)));
  END IF;
  IF v_closed <> '{}' OR v_queues IS NOT NULL THEN
    SELECT array_agg(l.type), array_agg(l.version), array_agg(l.queue), array_agg(l.n), array_agg(l.rank)
    INTO v_types, v_versions, v_lanes, v_limits, v_scan_hints
    FROM unnest(v_types, v_versions, v_lanes, v_limits, v_scan_hints) AS l (type, version, queue, n, rank)
    WHERE NOT l.queue = ANY (v_closed) AND (v_queues IS NULL OR l.queue = ANY (v_queues));
  END IF;

  IF cardinality(v_lanes) = 1 THEN
    -- As a rule.
    SELECT array_agg(t.ctid ORDER BY t.rank, t.seq), max(t.rank) INTO v_rows, v_last_rank FROM (
      SELECT j.ctid, j.rank, j.seq FROM duly.jobs j
      WHERE j.rank IS NOT NULL AND j.solo = 0 AND j.type = v_types[1] AND j.version = v_versions[1] AND j.queue = v_lanes[1]
        AND j.rank >= v_scan_hints[1]
        AND (NOT v_overdue OR j.expire_at IS NULL OR j.started_at IS NOT NULL OR j.expire_at >= p_now)
      ORDER BY j.rank, j.seq LIMIT least(v_limits[1], v_limit) FOR UPDATE SKIP LOCKED) t;
    IF v_rows IS NOT NULL THEN
      claimed := duly.take(p_now, p_claim, v_rows, v_types[1]);
      -- What was taken has left the index, so whatever is found from its last rank on is more.
      more := cardinality(v_rows) = v_limit AND EXISTS (SELECT 1 FROM duly.jobs j
        WHERE j.rank IS NOT NULL AND j.solo = 0 AND j.type = v_types[1] AND j.version = v_versions[1] AND j.queue = v_lanes[1]
          AND j.rank >= v_last_rank);
    END IF;
  ELSIF cardinality(v_lanes) > 1 THEN
    -- How many from which lane, unlocked, so it costs no one anything; then that many from each lane, passing over what others hold.
    -- To lock the heads of every lane and throw most away would hide them from the other workers.
    WITH lane AS (
      SELECT * FROM unnest(v_types, v_versions, v_lanes, v_limits, v_scan_hints) AS l (type, version, queue, n, floor)),
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
        AND (NOT v_overdue OR j.expire_at IS NULL OR j.started_at IS NOT NULL OR j.expire_at >= p_now)
      ORDER BY j.rank, j.seq LIMIT s.n FOR UPDATE SKIP LOCKED) t;
    IF v_rows IS NOT NULL THEN claimed := duly.take(p_now, p_claim, v_rows, NULL); END IF;
  END IF;
  more := more OR v_row IS NOT NULL OR NOT v_all_promoted OR NOT v_all_expired;
END $$;

-- Whether these jobs are all among those that a claim was given.
CREATE FUNCTION duly.claimed_all(p_claimed json, p_created text[]) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE v_taken json := CASE json_typeof(p_claimed) WHEN 'object' THEN p_claimed -> 'columns' -> 0 ELSE p_claimed -> 0 END;
BEGIN
  IF cardinality(p_created) > coalesce(json_array_length(v_taken), 0) THEN RETURN false; END IF;
  RETURN p_created <@ (SELECT coalesce(array_agg(c), '{}') FROM json_array_elements_text(v_taken) c);
END $$;

-- A claim and nothing else, as a worker sends it that has nothing to do and hears of a job, or knows when one is due: answers what exchange
-- would, by as few statements as it takes. It can while nothing is overdue, paused or suspect, and either none is due and one lane of the store has
-- jobs, or no lane has and the caller can take whatever is due. All else goes the long way. Each
-- statement, and each expression of a function, is made ready anew in every transaction, and for a lone job that is most of what a claim costs.
-- So what is asked for comes as arguments; `p_claim` is the whole of it, for the long way.
-- call: claimAlone
CREATE FUNCTION duly.claim_alone(
  p_now bigint, p_types text[], p_versions integer[], p_limits integer[], p_queues text[], p_limit integer, p_node text, p_token text,
  p_lease_ms bigint, p_claim text
) RETURNS text LANGUAGE plpgsql
SET lock_timeout = '2s'
SET plan_cache_mode = force_generic_plan SET jit = off SET enable_seqscan = off SET enable_bitmapscan = off
SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
  v_now bigint := coalesce(p_now, floor(extract(epoch FROM statement_timestamp()) * 1000)::bigint);
  v_read bigint := pg_stat_get_xact_blocks_fetched('duly.jobs'::regclass);
  v_long boolean;
  v_next bigint;
  v_row tid;
  v_lone boolean;
  v_type text;
  v_version integer;
  v_queue text;
  v_rank bigint;
  -- How many the caller wants of the lane; null: none.
  v_limit integer;
  v_rows tid[];
  v_id text;
  v_fence bigint;
  v_claimed json;
  v_more boolean := false;
  -- Of what is due: whether one of them must go the long way, how many there are, and when the next one falls due.
  v_odd boolean;
  v_due integer := 0;
  v_after bigint;
BEGIN
  -- See claim for each of these. What is ready stands in one index, first by whether it is suspect and then by lanes: if its first and its
  -- last entry are of one lane, there is no other.
  SELECT (f.solo, f.type, f.version, f.queue) IS DISTINCT FROM (l.solo, l.type, l.version, l.queue) OR coalesce(f.solo > 0, false)
      OR EXISTS (SELECT 1 FROM duly.left_places) OR EXISTS (SELECT 1 FROM duly.records WHERE kind = 'pause')
      OR EXISTS (SELECT 1 FROM duly.jobs WHERE expire_at IS NOT NULL AND started_at IS NULL AND expire_at < v_now),
    (SELECT min(n.due_at) FROM unnest(p_types) AS t (type) CROSS JOIN LATERAL (
      SELECT j.due_at FROM duly.jobs j WHERE j.rank IS NULL AND j.status IN ('SCHEDULED', 'RETRYING') AND j.type = t.type
      ORDER BY j.due_at, j.seq LIMIT 1) n),
    f.ctid, f.seq = l.seq, f.type, f.version, f.queue, f.rank,
    CASE WHEN f.version <= p_versions[array_position(p_types, f.type)] AND (p_queues IS NULL OR f.queue = ANY (p_queues))
      THEN p_limits[array_position(p_types, f.type)] END
  INTO v_long, v_next, v_row, v_lone, v_type, v_version, v_queue, v_rank, v_limit
  FROM (VALUES (1)) one (n)
  LEFT JOIN LATERAL (
    SELECT ctid, solo, type, version, queue, rank, seq FROM duly.jobs WHERE rank IS NOT NULL
    ORDER BY solo, type, version, queue, rank, seq LIMIT 1) f ON true
  LEFT JOIN LATERAL (
    SELECT solo, type, version, queue, seq FROM duly.jobs WHERE rank IS NOT NULL
    ORDER BY solo DESC, type DESC, version DESC, queue DESC, rank DESC, seq DESC LIMIT 1) l ON true;
  IF NOT v_long AND v_next <= v_now AND v_row IS NULL THEN
    -- What is due is taken without being made ready first: a version of the row less, and no entry in the index of what is ready. Nothing else is
    -- ready, so if all of it can be taken no order is passed over.
    SELECT array_agg(d.ctid ORDER BY d.rank, d.seq), bool_or(d.odd OR d.n > t.n), count(*), (
        SELECT min(a.due_at) FROM unnest(p_types) AS o (type) CROSS JOIN LATERAL (
          SELECT j.due_at FROM duly.jobs j
          WHERE j.rank IS NULL AND j.status IN ('SCHEDULED', 'RETRYING') AND j.type = o.type AND j.due_at > v_now
          ORDER BY j.due_at, j.seq LIMIT 1) a)
    INTO v_rows, v_odd, v_due, v_after
    FROM unnest(p_types, p_versions, p_limits) AS t (type, version, n) CROSS JOIN LATERAL (
      SELECT w.*, count(*) OVER () AS n FROM (
        SELECT j.ctid, j.due_at + j.rank_offset AS rank, j.seq,
          j.serial IS NOT NULL OR j.solo > 0 OR j.version > t.version OR (p_queues IS NOT NULL AND NOT j.queue = ANY (p_queues)) AS odd
        FROM duly.jobs j
        WHERE j.rank IS NULL AND j.status IN ('SCHEDULED', 'RETRYING') AND j.type = t.type AND j.due_at <= v_now
        ORDER BY j.due_at, j.seq LIMIT t.n + 1) w) d;
    v_long := coalesce(v_odd, true) OR v_due > p_limit;
    v_row := v_rows[1];
    v_lone := v_due = 1;
    v_limit := v_due;
  ELSE
    v_long := v_long OR v_next <= v_now;
  END IF;
  IF v_long OR pg_stat_get_xact_blocks_fetched('duly.jobs'::regclass) - v_read > 300 THEN
    RETURN duly.exchange(p_now, NULL, NULL, NULL, NULL, NULL, p_claim::jsonb, false);
  END IF;
  IF v_limit > 0 AND v_lone AND (p_limit > 1 OR v_due = 1) THEN
    -- What take does, for one, and promote before it. The instant is read when the row is locked (see after_lock).
    WITH picked AS MATERIALIZED (
      SELECT r.*, coalesce(p_now, floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint) AS at FROM (
        SELECT j.ctid AS tid, j.status AS was, j.percent AS was_percent FROM duly.jobs j
        WHERE j.ctid = v_row AND CASE WHEN v_due = 0 THEN j.rank IS NOT NULL
          ELSE j.rank IS NULL AND j.status IN ('SCHEDULED', 'RETRYING') AND j.due_at <= v_now END
        FOR UPDATE SKIP LOCKED) r),
    taken AS (
      UPDATE duly.jobs j SET
        status = 'RUNNING', rank = NULL, fence = nextval('duly.fence'), node = p_node, claimed_at = p.at, updated_at = p.at, begun_at = NULL,
        attempt = j.attempt + 1, started_at = coalesce(j.started_at, p.at),
        lateness_ms = coalesce(j.lateness_ms, greatest(0, p.at - j.due_at)),
        percent = 0, message = NULL, step = NULL, step_of = NULL
      FROM picked p WHERE j.ctid = p.tid
      RETURNING j.*, p.was, p.was_percent),
    leased AS (
      INSERT INTO duly.leases (id, seq, fence, node, token, plain, until_at, cancel_at)
      SELECT id, seq, fence, p_node, p_token, dedupe_key IS NULL AND serial IS NULL, claimed_at + p_lease_ms, cancel_requested_at FROM taken),
    told AS (
      INSERT INTO duly.changes (at, n, entries)
      SELECT v_now, 1, json_build_array(json_build_array(id), type, CASE was WHEN 'RETRYING' THEN was ELSE 'PENDING' END, 'due', was_percent)::text
      FROM taken WHERE v_due = 1
      UNION ALL
      SELECT claimed_at, 1, json_build_array(json_build_array(id), type, 'RUNNING', 'claimed', 0)::text FROM taken)
    SELECT id, fence, CASE WHEN parent_id IS NULL AND cancel_requested_at IS NULL THEN json_build_object('columns', json_build_array(
        {{job.claimColumns | CASE WHEN %column IS NOT NULL THEN json_build_array(%column) END | ,
        | id=json_build_array(id) | fence=json_build_array(fence) | input=json_build_array(input)
        | createdAt=json_build_array(created_at) | dueAt=json_build_array(due_at)
        | slot=CASE WHEN slot IS NOT NULL THEN json_build_array(slot) END,
          CASE WHEN slot_details IS NOT NULL THEN json_build_array(slot_details) END}}),
      {{job.claim +shared | '%field', %column}}) END
    INTO v_id, v_fence, v_claimed FROM taken;
    -- Somebody has it, or has just changed it.
    IF v_id IS NULL THEN RETURN duly.exchange(p_now, NULL, NULL, NULL, NULL, NULL, p_claim::jsonb, false); END IF;
    IF v_claimed IS NULL THEN v_claimed := duly.leased(ARRAY[v_id], ARRAY[v_fence], '{false}'); END IF;
    IF v_due = 1 THEN v_next := v_after; END IF;
  ELSIF v_due > 0 THEN
    WITH due AS (
      SELECT j.ctid AS tid, r.n, j.id, j.type, CASE j.status WHEN 'RETRYING' THEN j.status ELSE 'PENDING' END AS status, j.percent, j.due_at, j.seq
      FROM unnest(v_rows) WITH ORDINALITY AS r (tid, n) JOIN duly.jobs j ON j.ctid = r.tid
      WHERE coalesce(j.rank IS NULL AND j.status IN ('SCHEDULED', 'RETRYING') AND j.due_at <= v_now, false) FOR UPDATE OF j SKIP LOCKED),
    told AS (
      INSERT INTO duly.changes (at, n, entries)
      SELECT v_now, count(*), json_build_array(json_agg(id), json_agg(type), json_agg(status), 'due', json_agg(percent))::text
      FROM (SELECT * FROM due ORDER BY due_at, seq) d HAVING count(*) > 0)
    SELECT array_agg(tid ORDER BY n) INTO v_rows FROM due;
    IF v_rows IS NULL THEN RETURN duly.exchange(p_now, NULL, NULL, NULL, NULL, NULL, p_claim::jsonb, false); END IF;
    v_claimed := duly.take(v_now, p_claim::jsonb, v_rows, NULL);
    -- One that somebody has is still to be looked at.
    IF cardinality(v_rows) = v_due THEN v_next := v_after; END IF;
  ELSIF v_limit > 0 THEN
    SELECT array_agg(t.ctid ORDER BY t.rank, t.seq), max(t.rank) INTO v_rows, v_rank FROM (
      SELECT j.ctid, j.rank, j.seq FROM duly.jobs j
      WHERE j.rank IS NOT NULL AND j.solo = 0 AND j.type = v_type AND j.version = v_version AND j.queue = v_queue AND j.rank >= v_rank
      ORDER BY j.rank, j.seq LIMIT least(v_limit, p_limit) FOR UPDATE SKIP LOCKED) t;
    IF v_rows IS NOT NULL THEN
      v_claimed := duly.take(v_now, p_claim::jsonb, v_rows, v_type);
      v_more := cardinality(v_rows) = p_limit AND EXISTS (SELECT 1 FROM duly.jobs j
        WHERE j.rank IS NOT NULL AND j.solo = 0 AND j.type = v_type AND j.version = v_version AND j.queue = v_queue AND j.rank >= v_rank);
    END IF;
  END IF;
  RETURN json_build_object('now', v_now, 'lost', '[]'::json, 'claimed', coalesce(v_claimed, '[]'::json), 'more', v_more,
    'soloSinceAt', NULL, 'nextDueAt', v_next)::text;
END $$;
