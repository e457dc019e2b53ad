-- Claiming jobs. A lane is (solo, type, version, queue); its ready jobs are one stretch of the index jobs_ready, by rank.
--
-- Jobs under lease are returned by columns, because an object for every job would cost more than the claim: `columns` holds a list for each field
-- in which they may differ, and the other fields stand beside it, once. [] is none. toClaimedJobs (verbs/claim.ts) reads them.

-- What is paused at an instant, and when the next pause ends by itself.
CREATE FUNCTION duly.pauses(p_now bigint, OUT paused text[], OUT next_end_at bigint) LANGUAGE sql STABLE AS $$
  SELECT coalesce(array_agg(p.key), '{}'), min(p.until_at)
  FROM (SELECT key, (value::json ->> 'untilAt')::bigint AS until_at FROM duly.records WHERE kind = 'pause') p
  WHERE p.until_at IS NULL OR p.until_at > p_now
$$;

-- Live jobs under lease by columns.
CREATE FUNCTION duly.leased(p_ids text[], p_fences bigint[], p_begun boolean[]) RETURNS json LANGUAGE plpgsql AS $$
BEGIN
  RETURN (SELECT json_build_object('columns', json_build_object({{job.claim | '%field', json_agg(j.%column) | , | fence='fence', json_agg(j.lease_fence)
      | begunAt='begun', json_agg(j.begun) | slot='slot', json_agg(j.slot), 'slotDetails', json_agg(j.slot_details)}}))
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
    json_build_object({{job.claimColumns | '%field', CASE WHEN count(%column) > 0 THEN json_agg(%column) END | ,
      | id='id', json_agg(id) | fence='fence', json_agg(fence) | input='input', json_agg(input)
      | createdAt='createdAt', json_agg(created_at) | dueAt='dueAt', json_agg(due_at)
      | slot='slot', CASE WHEN count(slot) > 0 THEN json_agg(slot) END, 'slotDetails', CASE WHEN count(slot_details) > 0 THEN json_agg(slot_details) END}})
  -- In their order, which is asked for: the planner may come to the rows in that of the table.
  INTO v_ids, v_fences, v_types, v_odd, v_columns FROM (SELECT * FROM taken ORDER BY n) t;
  IF v_ids IS NULL THEN RETURN '[]'; END IF;
  INSERT INTO duly.changes (at, n, entries) VALUES (v_at, cardinality(v_ids),
    json_build_array(v_ids, CASE WHEN p_type IS NULL THEN to_json(v_types) ELSE to_json(p_type) END, 'RUNNING', 'claimed', 0)::text);
  IF v_odd > 0 THEN RETURN duly.leased(v_ids, v_fences, array_fill(false, ARRAY[cardinality(v_ids)])); END IF;
  RETURN json_build_object('columns', v_columns, 'claimedAt', v_at,
    {{job.claim +shared -claimedAt | '%field', v_first.%column | , | attempt='attempt', v_first.attempt + 1}});
END $$;

-- Takes jobs of one lane from this rank on. `p_overdue`: jobs past their start deadline may be among them, and are passed over.
CREATE FUNCTION duly.take_lane(
  p_now bigint, p_claim jsonb, p_type text, p_version integer, p_queue text, p_rank bigint, p_wanted integer, p_overdue boolean,
  OUT claimed json, OUT more boolean)
LANGUAGE plpgsql AS $$
DECLARE
  v_limit integer := (p_claim ->> 'limit')::integer;
  v_rows tid[];
  v_last_rank bigint;
BEGIN
  SELECT array_agg(t.ctid ORDER BY t.rank, t.seq), max(t.rank) INTO v_rows, v_last_rank FROM (
    SELECT j.ctid, j.rank, j.seq FROM duly.jobs j
    WHERE j.rank IS NOT NULL AND j.solo = 0 AND j.type = p_type AND j.version = p_version AND j.queue = p_queue AND j.rank >= p_rank
      AND (NOT p_overdue OR j.expire_at IS NULL OR j.started_at IS NOT NULL OR j.expire_at >= p_now)
    ORDER BY j.rank, j.seq LIMIT least(p_wanted, v_limit) FOR UPDATE SKIP LOCKED) t;
  claimed := '[]';
  more := false;
  IF v_rows IS NULL THEN RETURN; END IF;
  claimed := duly.take(p_now, p_claim, v_rows, p_type);
  -- What was taken has left the index, so whatever is found from its last rank on is more.
  more := cardinality(v_rows) = v_limit AND EXISTS (SELECT 1 FROM duly.jobs j
    WHERE j.rank IS NOT NULL AND j.solo = 0 AND j.type = p_type AND j.version = p_version AND j.queue = p_queue AND j.rank >= v_last_rank);
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

-- The reply to a claim that is sent again: the jobs that it was given. `claimed` null: none.
CREATE FUNCTION duly.claim_again(p_now bigint, p_claim jsonb, p_from bigint, OUT claimed json, OUT next_at bigint) LANGUAGE plpgsql AS $$
DECLARE v_types text[];
BEGIN
  SELECT duly.leased(array_agg(j.id ORDER BY j.fence), array_agg(j.fence ORDER BY j.fence), array_agg(j.begun ORDER BY j.fence))
  INTO claimed FROM (
    SELECT l.id, l.fence, l.begun_at IS NOT NULL AS begun FROM duly.leases l WHERE l.token = p_claim ->> 'token') j
  HAVING count(*) > 0;
  IF claimed IS NULL THEN RETURN; END IF;
  PERFORM duly.confirm();
  SELECT array_agg(t ->> 'type') INTO v_types FROM jsonb_array_elements(p_claim -> 'tasks') t;
  next_at := duly.next_due(v_types, p_from);
  IF v_types IS NOT NULL THEN next_at := least(next_at, (duly.pauses(p_now)).next_end_at); END IF;
END $$;

-- What a claim may take at this instant: its tasks that are not paused, the queues that are, the queues it asks for (null: all), and when the
-- next pause ends. `types` null: nothing.
CREATE FUNCTION duly.find_claimable(
  p_now bigint, p_claim jsonb, OUT types text[], OUT versions integer[], OUT limits integer[], OUT closed text[], OUT queues text[],
  OUT pause_end bigint)
LANGUAGE plpgsql AS $$
DECLARE v_paused text[];
BEGIN
  IF jsonb_array_length(p_claim -> 'tasks') = 0 THEN RETURN; END IF;
  SELECT coalesce(array_agg(p.key), '{}'), min(p.until_at) INTO v_paused, pause_end
  FROM (SELECT key, (value::json ->> 'untilAt')::bigint AS until_at FROM duly.records WHERE kind = 'pause') p
  WHERE p.until_at IS NULL OR p.until_at > p_now;
  IF 'all' = ANY (v_paused) THEN RETURN; END IF;
  SELECT array_agg(t ->> 'type'), array_agg((t ->> 'version')::integer), array_agg((t ->> 'limit')::integer)
  INTO types, versions, limits
  FROM jsonb_array_elements(p_claim -> 'tasks') t
  WHERE (t ->> 'limit')::integer > 0 AND NOT 'type:' || (t ->> 'type') = ANY (v_paused);
  SELECT coalesce(array_agg(substr(p, 7)), '{}') INTO closed FROM unnest(v_paused) p WHERE p LIKE 'queue:%';
  IF jsonb_typeof(p_claim -> 'queues') = 'array' THEN
    SELECT coalesce(array_agg(q), '{}') INTO queues FROM jsonb_array_elements_text(p_claim -> 'queues') q;
  END IF;
END $$;

-- Takes a suspect job, by itself. `waits`: one is ready, but not the most urgent job.
CREATE FUNCTION duly.claim_suspect(
  p_now bigint, p_claim jsonb, p_types text[], p_versions integer[], p_closed text[], p_queues text[],
  OUT claimed json, OUT solo_since bigint, OUT waits boolean)
LANGUAGE plpgsql AS $$
DECLARE
  v_limit integer := (p_claim ->> 'limit')::integer;
  v_row tid;
  v_rank bigint;
BEGIN
  waits := false;
  IF (p_claim ->> 'idle')::boolean AND v_limit > 0 THEN
    SELECT j.ctid INTO v_row FROM duly.jobs j JOIN unnest(p_types, p_versions) AS t (type, version) ON j.type = t.type
    WHERE j.rank IS NOT NULL AND j.solo = 2 AND j.version <= t.version
      AND NOT j.queue = ANY (p_closed) AND (p_queues IS NULL OR j.queue = ANY (p_queues))
    ORDER BY j.rank, j.seq LIMIT 1 FOR UPDATE OF j SKIP LOCKED;
    IF v_row IS NOT NULL THEN
      claimed := duly.take(p_now, p_claim, ARRAY[v_row], NULL);
      RETURN;
    END IF;
  END IF;
  SELECT min(j.due_at) INTO solo_since FROM duly.jobs j
  WHERE j.rank IS NOT NULL AND j.solo = 2 AND j.type IN (
    SELECT o.type FROM duly.jobs o JOIN unnest(p_types, p_versions) AS t (type, version) ON o.type = t.type
    WHERE o.rank IS NOT NULL AND o.solo = 2 AND o.version <= t.version
      AND NOT o.queue = ANY (p_closed) AND (p_queues IS NULL OR o.queue = ANY (p_queues)));
  IF v_limit <= 0 THEN RETURN; END IF;
  -- A job that was lost before is claimed by itself, in its turn: when it stands at the head.
  SELECT j.ctid, j.rank INTO v_row, v_rank FROM duly.jobs j JOIN unnest(p_types, p_versions) AS t (type, version) ON j.type = t.type
  WHERE j.rank IS NOT NULL AND j.solo = 1 AND j.version <= t.version
    AND NOT j.queue = ANY (p_closed) AND (p_queues IS NULL OR j.queue = ANY (p_queues))
  ORDER BY j.rank, j.seq LIMIT 1 FOR UPDATE OF j SKIP LOCKED;
  waits := v_row IS NOT NULL;
  IF waits AND NOT EXISTS (
    SELECT 1 FROM unnest(p_types, p_versions) AS t (type, version) CROSS JOIN LATERAL (
      SELECT 1 FROM duly.jobs j WHERE j.rank IS NOT NULL AND j.solo = 0 AND j.type = t.type AND j.version <= t.version AND j.rank < v_rank
        AND NOT j.queue = ANY (p_closed) AND (p_queues IS NULL OR j.queue = ANY (p_queues)) LIMIT 1) r)
  THEN
    claimed := duly.take(p_now, p_claim, ARRAY[v_row], NULL);
  END IF;
END $$;

-- The lanes of these types that have ready jobs, each with its lowest rank.
CREATE FUNCTION duly.find_lanes(
  p_hints jsonb, INOUT types text[], INOUT versions integer[], INOUT limits integer[], OUT queues text[], OUT ranks bigint[])
LANGUAGE plpgsql AS $$
BEGIN
  IF p_hints IS NULL THEN
    -- The lanes, by a loose scan: each step is one seek, however many jobs a lane holds. Each with its lowest rank: what is dead below it and
    -- cannot be removed yet is stepped over once.
    WITH RECURSIVE lane AS (
      SELECT w.type, w.version AS highest, w.n, f.version, f.queue, f.rank
      FROM unnest(types, versions, limits) AS w (type, version, n) CROSS JOIN LATERAL (
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
    INTO types, versions, queues, limits, ranks FROM lane l;
  ELSE
    SELECT array_agg(w.type), array_agg(l.version), array_agg(l.queue), array_agg(w.n), array_agg(f.rank)
    INTO types, versions, queues, limits, ranks
    FROM unnest(types, versions, limits) AS w (type, version, n)
    JOIN jsonb_to_recordset(p_hints -> 'lanes') AS l (type text, version integer, queue text, rank bigint)
      ON l.type = w.type AND l.version <= w.version
    CROSS JOIN LATERAL (
      SELECT j.rank FROM duly.jobs j
      WHERE j.rank IS NOT NULL AND j.solo = 0 AND j.type = l.type AND j.version = l.version AND j.queue = l.queue AND j.rank >= l.rank
      ORDER BY j.rank LIMIT 1) f;
  END IF;
END $$;

-- Takes the most urgent jobs of several lanes.
CREATE FUNCTION duly.take_lanes(
  p_now bigint, p_claim jsonb, p_types text[], p_versions integer[], p_queues text[], p_ranks bigint[], p_limits integer[], p_overdue boolean,
  OUT claimed json, OUT more boolean)
LANGUAGE plpgsql AS $$
DECLARE
  v_limit integer := (p_claim ->> 'limit')::integer;
  v_rows tid[];
BEGIN
  claimed := '[]';
  -- How many from which lane, unlocked, so it costs no one anything; then that many from each lane, passing over what others hold.
  -- To lock the heads of every lane and throw most away would hide them from the other workers.
  WITH lane AS (
    SELECT * FROM unnest(p_types, p_versions, p_queues, p_limits, p_ranks) AS l (type, version, queue, n, floor)),
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
      AND (NOT p_overdue OR j.expire_at IS NULL OR j.started_at IS NOT NULL OR j.expire_at >= p_now)
    ORDER BY j.rank, j.seq LIMIT s.n FOR UPDATE SKIP LOCKED) t;
  IF v_rows IS NOT NULL THEN claimed := duly.take(p_now, p_claim, v_rows, NULL); END IF;
END $$;

-- The full branch of claim: first ends what is past its start deadline, and promotes what is due.
--
-- While a transaction stays open, index entries of settled jobs remain below the live ones. A scan from the lowest rank then reads more and
-- more pages, and reports it: `scan` says how many, and the lowest live rank of each lane. The caller may send them as `scanHints` with its
-- next claim, which scans only these lanes from there on. Jobs below are found by the next full scan.
CREATE FUNCTION duly.claim_full(
  p_now bigint, p_claim jsonb, p_repeat boolean, OUT claimed json, OUT more boolean, OUT solo_since bigint, OUT next_at bigint, OUT scan json)
LANGUAGE plpgsql AS $$
DECLARE
  v_limit integer := (p_claim ->> 'limit')::integer;
  v_types text[];
  v_versions integer[];
  v_limits integer[];
  v_queues text[];
  v_closed text[];
  v_all_promoted boolean := true;
  v_all_expired boolean := true;
  v_overdue boolean := false;
  v_waits boolean := false;
  v_lanes text[];
  v_ranks bigint[];
  v_hints jsonb := p_claim -> 'scanHints';
  v_from bigint := coalesce((v_hints ->> 'dueAt')::bigint, -9223372036854775808);
  v_read bigint := duly.pages_read();
BEGIN
  claimed := '[]';
  more := false;
  IF p_repeat THEN
    SELECT * INTO claimed, next_at FROM duly.claim_again(p_now, p_claim, v_from);
    more := claimed IS NOT NULL;
    IF more THEN RETURN; END IF;
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
  SELECT least(next_at, c.pause_end), c.types, c.versions, c.limits, c.closed, c.queues
  INTO next_at, v_types, v_versions, v_limits, v_closed, v_queues FROM duly.find_claimable(p_now, p_claim) c;
  IF v_types IS NULL THEN RETURN; END IF;
  IF EXISTS (SELECT 1 FROM duly.jobs WHERE rank IS NOT NULL AND solo > 0 LIMIT 1) THEN
    SELECT * INTO claimed, solo_since, v_waits FROM duly.claim_suspect(p_now, p_claim, v_types, v_versions, v_closed, v_queues);
    more := claimed IS NOT NULL;
    IF more THEN RETURN; END IF;
    claimed := '[]';
  END IF;
  -- Takes nothing, and only asks what is there.
  IF v_limit <= 0 THEN
    more := EXISTS (
      SELECT 1 FROM unnest(v_types, v_versions) AS t (type, version) CROSS JOIN unnest('{0,1,2}'::smallint[]) AS s (solo) CROSS JOIN LATERAL (
        SELECT 1 FROM duly.jobs j WHERE j.rank IS NOT NULL AND j.solo = s.solo AND j.type = t.type AND j.version <= t.version
          AND NOT j.queue = ANY (v_closed) AND (v_queues IS NULL OR j.queue = ANY (v_queues)) LIMIT 1) r);
    RETURN;
  END IF;

  v_read := v_read - duly.pages_read();
  SELECT * INTO v_types, v_versions, v_limits, v_lanes, v_ranks FROM duly.find_lanes(v_hints, v_types, v_versions, v_limits);
  v_read := v_read + duly.pages_read();
  IF v_hints IS NOT NULL OR v_read > 300 THEN
    scan := json_build_object('isFull', v_hints IS NULL, 'pages', v_read, 'isAllPromoted', v_all_promoted, 'lanes', (
      SELECT coalesce(json_agg(json_build_object('type', l.type, 'version', l.version, 'queue', l.queue, 'rank', l.rank)), '[]')
      FROM unnest(v_types, v_versions, v_lanes, v_ranks) AS l (type, version, queue, rank)));
  END IF;
  IF v_closed <> '{}' OR v_queues IS NOT NULL THEN
    SELECT array_agg(l.type), array_agg(l.version), array_agg(l.queue), array_agg(l.n), array_agg(l.rank)
    INTO v_types, v_versions, v_lanes, v_limits, v_ranks
    FROM unnest(v_types, v_versions, v_lanes, v_limits, v_ranks) AS l (type, version, queue, n, rank)
    WHERE NOT l.queue = ANY (v_closed) AND (v_queues IS NULL OR l.queue = ANY (v_queues));
  END IF;

  IF cardinality(v_lanes) = 1 THEN
    SELECT * INTO claimed, more FROM duly.take_lane(p_now, p_claim, v_types[1], v_versions[1], v_lanes[1], v_ranks[1], v_limits[1], v_overdue);
  ELSIF cardinality(v_lanes) > 1 THEN
    SELECT * INTO claimed, more FROM duly.take_lanes(p_now, p_claim, v_types, v_versions, v_lanes, v_ranks, v_limits, v_overdue);
  END IF;
  more := more OR v_waits OR NOT v_all_promoted OR NOT v_all_expired;
END $$;

-- Whether these jobs are all among those that a claim was given.
CREATE FUNCTION duly.claimed_all(p_claimed json, p_created text[]) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE v_taken json := p_claimed -> 'columns' -> 'id';
BEGIN
  IF cardinality(p_created) > coalesce(json_array_length(v_taken), 0) THEN RETURN false; END IF;
  RETURN p_created <@ (SELECT coalesce(array_agg(c), '{}') FROM json_array_elements_text(v_taken) c);
END $$;

-- Leases one job by a single statement: what promote does for a job that is due, and then what take does. Null: another session holds the
-- row, or has just changed it.
CREATE FUNCTION duly.take_one(p_now bigint, p_claim jsonb, p_row tid, p_is_due boolean) RETURNS json LANGUAGE plpgsql AS $$
DECLARE
  v_id text;
  v_fence bigint;
  v_claimed json;
BEGIN
  WITH picked AS MATERIALIZED (
    SELECT r.*, duly.after_lock(p_now) AS at FROM (
      SELECT j.ctid AS tid, j.status AS was, j.percent AS was_percent FROM duly.jobs j
      WHERE j.ctid = p_row AND CASE WHEN NOT p_is_due THEN j.rank IS NOT NULL
        ELSE j.rank IS NULL AND j.status IN ('SCHEDULED', 'RETRYING') AND j.due_at <= p_now END
      FOR UPDATE SKIP LOCKED) r),
  taken AS (
    UPDATE duly.jobs j SET
      status = 'RUNNING', rank = NULL, fence = nextval('duly.fence'), node = p_claim ->> 'node', claimed_at = p.at, updated_at = p.at, begun_at = NULL,
      attempt = j.attempt + 1, started_at = coalesce(j.started_at, p.at),
      lateness_ms = coalesce(j.lateness_ms, greatest(0, p.at - j.due_at)),
      percent = 0, message = NULL, step = NULL, step_of = NULL
    FROM picked p WHERE j.ctid = p.tid
    RETURNING j.*, p.was, p.was_percent),
  leased AS (
    INSERT INTO duly.leases (id, seq, fence, node, token, plain, until_at, cancel_at)
    SELECT id, seq, fence, p_claim ->> 'node', p_claim ->> 'token', dedupe_key IS NULL AND serial IS NULL, claimed_at + (p_claim ->> 'leaseMs')::bigint, cancel_requested_at FROM taken),
  told AS (
    INSERT INTO duly.changes (at, n, entries)
    SELECT p_now, 1, json_build_array(json_build_array(id), type, CASE was WHEN 'RETRYING' THEN was ELSE 'PENDING' END, 'due', was_percent)::text
    FROM taken WHERE p_is_due
    UNION ALL
    SELECT claimed_at, 1, json_build_array(json_build_array(id), type, 'RUNNING', 'claimed', 0)::text FROM taken)
  SELECT id, fence, CASE WHEN parent_id IS NULL AND cancel_requested_at IS NULL THEN json_build_object(
    'columns', json_build_object('id', json_build_array(id)), {{job.claimColumns -id | '%field', %column | , | slot='slot', slot, 'slotDetails', slot_details}},
    {{job.claim +shared | '%field', %column}}) END
  INTO v_id, v_fence, v_claimed FROM taken;
  IF v_claimed IS NULL AND v_id IS NOT NULL THEN RETURN duly.leased(ARRAY[v_id], ARRAY[v_fence], '{false}'); END IF;
  RETURN v_claimed;
END $$;

-- Takes all jobs that are due without promoting them first: that saves a version of each row and its entry in the index of ready jobs. Nothing
-- else is ready, so if all of them can be taken no order is passed over. `claimed` null: they cannot, or other sessions hold them.
CREATE FUNCTION duly.take_due(p_now bigint, p_claim jsonb, OUT claimed json, OUT next_at bigint) LANGUAGE plpgsql AS $$
DECLARE
  v_rows tid[];
  v_odd boolean;
  v_count integer;
  v_after bigint;
BEGIN
  WITH task AS (SELECT * FROM jsonb_to_recordset(p_claim -> 'tasks') AS t (type text, version integer, "limit" integer))
  SELECT array_agg(d.ctid ORDER BY d.rank, d.seq), bool_or(d.odd OR d.n > t."limit"), count(*), (
      SELECT min(a.due_at) FROM task o CROSS JOIN LATERAL (
        SELECT j.due_at FROM duly.jobs j
        WHERE j.rank IS NULL AND j.status IN ('SCHEDULED', 'RETRYING') AND j.type = o.type AND j.due_at > p_now
        ORDER BY j.due_at, j.seq LIMIT 1) a)
  INTO v_rows, v_odd, v_count, v_after
  FROM task t CROSS JOIN LATERAL (
    SELECT w.*, count(*) OVER () AS n FROM (
      SELECT j.ctid, j.due_at + j.rank_offset AS rank, j.seq, j.serial IS NOT NULL OR j.solo > 0 OR j.version > t.version
        OR (jsonb_typeof(p_claim -> 'queues') = 'array' AND NOT p_claim -> 'queues' ? j.queue) AS odd
      FROM duly.jobs j
      WHERE j.rank IS NULL AND j.status IN ('SCHEDULED', 'RETRYING') AND j.type = t.type AND j.due_at <= p_now
      ORDER BY j.due_at, j.seq LIMIT t."limit" + 1) w) d;
  IF coalesce(v_odd, true) OR v_count > (p_claim ->> 'limit')::integer THEN RETURN; END IF;
  next_at := v_after;
  IF v_count = 1 THEN
    claimed := duly.take_one(p_now, p_claim, v_rows[1], true);
    RETURN;
  END IF;
  WITH due AS (
    SELECT j.ctid AS tid, r.n, j.id, j.type, CASE j.status WHEN 'RETRYING' THEN j.status ELSE 'PENDING' END AS status, j.percent, j.due_at, j.seq
    FROM unnest(v_rows) WITH ORDINALITY AS r (tid, n) JOIN duly.jobs j ON j.ctid = r.tid
    WHERE coalesce(j.rank IS NULL AND j.status IN ('SCHEDULED', 'RETRYING') AND j.due_at <= p_now, false) FOR UPDATE OF j SKIP LOCKED),
  noted AS (
    INSERT INTO duly.changes (at, n, entries)
    SELECT p_now, count(*), json_build_array(json_agg(id), json_agg(type), json_agg(status), 'due', json_agg(percent))::text
    FROM (SELECT * FROM due ORDER BY due_at, seq) d HAVING count(*) > 0)
  SELECT array_agg(tid ORDER BY n) INTO v_rows FROM due;
  IF v_rows IS NULL THEN RETURN; END IF;
  claimed := duly.take(p_now, p_claim, v_rows, NULL);
  -- A job that another session holds is due all the same.
  IF cardinality(v_rows) < v_count THEN next_at := duly.next_due(ARRAY(SELECT t ->> 'type' FROM jsonb_array_elements(p_claim -> 'tasks') t), '-9223372036854775808'); END IF;
END $$;

-- Claims jobs for one worker. `next_at`: when the next job of these tasks falls due, or a pause ends; `more`: jobs are left that it could take.
CREATE FUNCTION duly.claim(
  p_now bigint, p_claim jsonb, p_repeat boolean, OUT claimed json, OUT more boolean, OUT solo_since bigint, OUT next_at bigint, OUT scan json)
LANGUAGE plpgsql AS $$
DECLARE
  v_read bigint := pg_stat_get_xact_blocks_fetched('duly.jobs'::regclass);
  v_branch text;
  v_row tid;
  v_type text;
  v_version integer;
  v_queue text;
  v_rank bigint;
  -- How many the worker wants of the lane; null: none.
  v_wanted integer;
BEGIN
  -- Plain: nothing is paused, overdue, suspect or left over, and either one lane of the store has ready jobs and nothing is due to be
  -- promoted, or only due jobs wait. One statement finds that out and chooses how the jobs are taken. Full: everything else. Each statement,
  -- and each expression of a function, is prepared anew in every transaction, and for one job that is most of what a claim costs.
  --
  -- Ready jobs stand in one index, first by whether they are suspect and then by lanes: if its first and its last entry are of one lane,
  -- there is no other.
  IF duly.allows_plain() AND NOT p_repeat AND p_claim -> 'scanHints' IS NULL AND (p_claim ->> 'limit')::integer > 0 THEN
    SELECT CASE
        WHEN (f.solo, f.type, f.version, f.queue) IS DISTINCT FROM (l.solo, l.type, l.version, l.queue) OR f.solo > 0
          OR EXISTS (SELECT 1 FROM duly.left_places) OR EXISTS (SELECT 1 FROM duly.records WHERE kind = 'pause')
          OR EXISTS (SELECT 1 FROM duly.jobs WHERE expire_at IS NOT NULL AND started_at IS NULL AND expire_at < p_now)
          OR pg_stat_get_xact_blocks_fetched('duly.jobs'::regclass) - v_read > 300 THEN 'full'
        WHEN t.next_at <= p_now THEN CASE WHEN f.ctid IS NULL THEN 'due' ELSE 'full' END
        WHEN t.wanted > 0 AND (jsonb_typeof(p_claim -> 'queues') <> 'array' OR p_claim -> 'queues' ? f.queue)
          THEN CASE WHEN f.seq = l.seq AND (p_claim ->> 'limit')::integer > 1 THEN 'one' ELSE 'lane' END
        ELSE 'none' END,
      '[]'::json, false, t.next_at, f.ctid, f.type, f.version, f.queue, f.rank, t.wanted
    INTO v_branch, claimed, more, next_at, v_row, v_type, v_version, v_queue, v_rank, v_wanted
    FROM (VALUES (1)) one (n)
    LEFT JOIN LATERAL (
      SELECT ctid, solo, type, version, queue, rank, seq FROM duly.jobs WHERE rank IS NOT NULL
      ORDER BY solo, type, version, queue, rank, seq LIMIT 1) f ON true
    LEFT JOIN LATERAL (
      SELECT solo, type, version, queue, seq FROM duly.jobs WHERE rank IS NOT NULL
      ORDER BY solo DESC, type DESC, version DESC, queue DESC, rank DESC, seq DESC LIMIT 1) l ON true
    CROSS JOIN LATERAL (
      SELECT min(n.due_at) AS next_at, max(w."limit") FILTER (WHERE w.type = f.type AND w.version >= f.version) AS wanted
      FROM jsonb_to_recordset(p_claim -> 'tasks') AS w (type text, version integer, "limit" integer)
      LEFT JOIN LATERAL (
        SELECT j.due_at FROM duly.jobs j WHERE j.rank IS NULL AND j.status IN ('SCHEDULED', 'RETRYING') AND j.type = w.type
        ORDER BY j.due_at, j.seq LIMIT 1) n ON true) t;
    IF v_branch = 'none' THEN RETURN; END IF;
    IF v_branch = 'one' THEN claimed := duly.take_one(p_now, p_claim, v_row, false);
    ELSIF v_branch = 'due' THEN SELECT * INTO claimed, next_at FROM duly.take_due(p_now, p_claim);
    ELSIF v_branch = 'lane' THEN
      SELECT * INTO claimed, more FROM duly.take_lane(p_now, p_claim, v_type, v_version, v_queue, v_rank, v_wanted, false);
    ELSE claimed := NULL;
    END IF;
    IF claimed IS NOT NULL THEN RETURN; END IF;
  END IF;
  SELECT * INTO claimed, more, solo_since, next_at, scan FROM duly.claim_full(p_now, p_claim, p_repeat);
END $$;
