-- What became of attempts; leases; making and taking as verbs.

CREATE FUNCTION duly.append_logs_1(p_id text, p_attempt integer, p_lines jsonb, p_limit bigint) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  v_n bigint;
  v_line jsonb;
BEGIN
  IF jsonb_array_length(p_lines) = 0 THEN RETURN; END IF;
  SELECT coalesce(max(n), 0) INTO v_n FROM duly.logs WHERE job_id = p_id;
  FOR v_line IN
    SELECT l FROM jsonb_array_elements(p_lines) WITH ORDINALITY AS e (l, i)
    WHERE i > jsonb_array_length(p_lines) - p_limit ORDER BY i
  LOOP
    INSERT INTO duly.logs (job_id, n, attempt, line, at, level, message)
    VALUES (p_id, v_n + 1, p_attempt, (v_line ->> 'line')::bigint, (v_line ->> 'at')::bigint, v_line ->> 'level', v_line ->> 'message')
    ON CONFLICT DO NOTHING;
    IF FOUND THEN v_n := v_n + 1; END IF;
  END LOOP;
  IF v_n > p_limit THEN DELETE FROM duly.logs WHERE job_id = p_id AND n <= v_n - p_limit; END IF;
END $$;

-- Adds one attempt to a JSON list of them and keeps the newest 50: a job that is put off for years must not grow without bound.
CREATE FUNCTION duly.add_attempt_1(p_attempts text, p_entry json) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  v_all text := CASE WHEN p_attempts = '[]' THEN '[' || p_entry::text || ']' ELSE left(p_attempts, -1) || ',' || p_entry::text || ']' END;
  v_count integer := json_array_length(v_all::json);
BEGIN
  IF v_count <= 50 THEN RETURN v_all; END IF;
  RETURN (SELECT '[' || string_agg(e::text, ',' ORDER BY i) || ']'
    FROM json_array_elements(v_all::json) WITH ORDINALITY AS a (e, i) WHERE i > v_count - 50);
END $$;

-- Whether an earlier, equal call settled this attempt: its fence ended with this reason, whatever the job did since.
CREATE FUNCTION duly.was_settled_1(p_id text, p_fence bigint, p_reason text) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
  v_attempts text;
  v_last bigint;
  v_over record;
BEGIN
  SELECT attempts INTO v_attempts FROM duly.jobs WHERE id = p_id;
  IF NOT FOUND THEN
    SELECT h.attempts, h.attempt, h.claimed_at, h.fence, h.reason INTO v_over FROM (
      SELECT attempts, attempt, claimed_at, fence, reason, seq FROM duly.dead WHERE id = p_id
      UNION ALL SELECT attempts, attempt, claimed_at, fence, reason, seq FROM duly.finished WHERE id = p_id) h ORDER BY h.seq DESC LIMIT 1;
    IF NOT FOUND THEN RETURN false; END IF;
    v_attempts := v_over.attempts;
    SELECT coalesce(max((a ->> 'n')::bigint), 0) INTO v_last FROM json_array_elements(v_attempts::json) a;
    IF v_over.attempt > v_last AND v_over.claimed_at IS NOT NULL AND v_over.fence = p_fence AND v_over.reason = p_reason THEN
      RETURN true;
    END IF;
  END IF;
  RETURN EXISTS (SELECT 1 FROM json_array_elements(v_attempts::json) a WHERE (a ->> 'fence')::bigint = p_fence AND a ->> 'reason' = p_reason);
END $$;

CREATE FUNCTION duly.go_again_1(p_now bigint, p_job duly.jobs, p_one jsonb) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  v_to text := p_one ->> 'to';
  v_reason text := p_one ->> 'reason';
  v_started boolean := (p_one ->> 'started')::boolean;
  v_release boolean := v_to = 'PENDING';
  -- A released job keeps its due time, and so its place in the order.
  v_due bigint := coalesce(duly.due_of_1(p_now, nullif(p_one -> 'due', 'null')), p_job.due_at);
  v_ready boolean := v_release OR (v_to = 'RETRYING' AND v_due <= p_now);
  v_unused boolean := v_release AND NOT v_started;
  v_progress jsonb := nullif(p_one -> 'report' -> 'progress', 'null');
  v_percent double precision := coalesce((v_progress ->> 'percent')::double precision, p_job.percent);
  v_job duly.jobs := p_job;
BEGIN
  UPDATE duly.jobs SET
    status = v_to, reason = v_reason, rank = CASE WHEN v_ready THEN v_due + rank_offset END, due_at = v_due, updated_at = p_now,
    fence = p_job.fence, begun_at = p_job.begun_at,
    -- Two losses after a written beginning: the next may end it, so it runs where nobody else can be the cause.
    solo = CASE WHEN p_job.begun_losses >= 2 THEN 2 WHEN p_job.losses > 0 THEN 1 ELSE 0 END,
    attempt = CASE WHEN v_unused THEN attempt - 1 ELSE attempt END,
    spent = p_job.spent, losses = p_job.losses, begun_losses = p_job.begun_losses,
    started_at = p_job.started_at, lateness_ms = p_job.lateness_ms,
    percent = v_percent, message = coalesce(v_progress ->> 'message', p_job.message),
    step = coalesce((v_progress ->> 'step')::double precision, p_job.step),
    step_of = coalesce((v_progress ->> 'of')::double precision, p_job.step_of),
    error = coalesce(p_one ->> 'error', error),
    attempts = CASE WHEN v_unused THEN attempts ELSE duly.add_attempt_1(attempts, json_build_object(
      'n', p_job.attempt, 'node', coalesce(p_job.node, ''), 'fence', p_job.fence, 'startedAt', coalesce(p_job.claimed_at, p_now),
      'begunAt', p_job.begun_at, 'endedAt', p_now, 'reason', v_reason, 'error', (p_one ->> 'error')::json)) END
  WHERE id = p_job.id;
  DELETE FROM duly.leases WHERE id = p_job.id;
  PERFORM duly.changed_1(p_now, p_job.id, p_job.type, v_to,
    CASE WHEN v_reason IN ('snoozed', 'released', 'lost') THEN v_reason ELSE 'failed' END, v_percent);
  PERFORM duly.hint_1('j');
  IF v_to = 'SCHEDULED' THEN
    -- Put off: it competes for its serial place again when it is due.
    PERFORM duly.leave_serial_1(p_now, p_job);
    IF v_due <= p_now THEN
      v_job.status := 'SCHEDULED';
      v_job.due_at := v_due;
      PERFORM duly.enter_1(p_now, v_job, 'due');
    END IF;
  END IF;
END $$;

-- Records what became of one attempt, if its lease still holds.
CREATE FUNCTION duly.settle_1(p_now bigint, p_one jsonb, p_repeat boolean) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
  v_id text := p_one ->> 'id';
  v_fence bigint := (p_one ->> 'fence')::bigint;
  v_loss text := p_one ->> 'loss';
  v_to text := p_one ->> 'to';
  v_job duly.jobs := duly.life_1(v_id);
BEGIN
  IF v_job.id IS NULL OR v_job.fence <> v_fence OR v_job.status <> 'RUNNING' THEN
    IF NOT p_repeat OR NOT (duly.was_settled_1(v_id, v_fence, p_one ->> 'reason')
      OR (v_to NOT IN ('COMPLETED', 'FAILED', 'CANCELLED') AND duly.was_settled_1(v_id, v_fence, 'cancelled'))) THEN RETURN false; END IF;
    PERFORM duly.confirm_1();
    RETURN true;
  END IF;
  IF p_one ? 'impossible' THEN RETURN false; END IF;
  -- This claim would have been the first start, or the first since a replay, and the handler was not entered: the job has not started.
  IF NOT (p_one ->> 'started')::boolean AND v_to <> 'COMPLETED' AND v_job.started_at = v_job.claimed_at
    AND (v_job.spent = 0 OR v_job.reason = 'replayed')
  THEN
    v_job.started_at := NULL;
    v_job.lateness_ms := NULL;
  END IF;
  v_job.spent := v_job.spent + (p_one ->> 'spends')::boolean::integer;
  v_job.losses := v_job.losses + (v_loss <> 'none')::integer;
  v_job.begun_losses := v_job.begun_losses + (v_loss = 'begun')::integer;
  IF jsonb_typeof(p_one -> 'report') = 'object' THEN
    PERFORM duly.append_logs_1(v_id, v_job.attempt, p_one -> 'report' -> 'logs', 1000);
  END IF;
  IF v_to IN ('COMPLETED', 'FAILED', 'CANCELLED') THEN
    PERFORM duly.finish_1(p_now, v_job, v_to, p_one ->> 'reason', p_one ->> 'result', p_one ->> 'error',
      nullif(p_one -> 'report' -> 'progress', 'null'), NULL, CASE WHEN v_loss <> 'none' THEN 'lost' END);
  ELSIF v_job.cancel_requested_at IS NOT NULL THEN
    -- What was asked to cancel does not come back, only to be cancelled then: its backoff may be an hour.
    PERFORM duly.finish_1(p_now, v_job, 'CANCELLED', 'cancelled', NULL, p_one ->> 'error',
      nullif(p_one -> 'report' -> 'progress', 'null'), NULL, CASE WHEN v_loss <> 'none' THEN 'lost' END);
  ELSE
    PERFORM duly.go_again_1(p_now, v_job, p_one);
  END IF;
  RETURN true;
END $$;

-- Ends many jobs that simply returned: what settle_1 does for each, in a few statements for all. `p_results` null: none of them has one.
-- Answers the places of those that were recorded; those with a key or a serial place are left to settle_1, which locks more.
CREATE FUNCTION duly.settle_returned_1(p_now bigint, p_ids text[], p_fences bigint[], p_results text[]) RETURNS bigint[] LANGUAGE plpgsql AS $$
DECLARE
  v_done bigint[];
  v_ids text[];
  v_types text[];
  v_followed text[] := '{}';
  v_id text;
  v_job duly.jobs;
BEGIN
  WITH lease AS (
    -- Whoever deletes the lease may end the job; the fence is looked at again after a wait.
    DELETE FROM duly.leases l USING unnest(p_ids, p_fences, p_results) WITH ORDINALITY AS r (id, fence, result, i)
    WHERE l.id = ANY (ARRAY[r.id]) AND l.fence = r.fence AND l.plain
    RETURNING l.id, l.fence, l.begun_at, l.message, l.step, l.step_of, r.i, r.result),
  gone AS (
    DELETE FROM duly.jobs j USING lease l WHERE j.id = ANY (ARRAY[l.id])
    RETURNING j.*, l.fence AS lease_fence, l.begun_at AS lease_begun_at, l.message AS lease_message, l.step AS lease_step,
      l.step_of AS lease_step_of, l.i AS lease_i, l.result AS lease_result),
  over AS (
    INSERT INTO duly.finished (
      seq, {{job.kept -dedupeKey -serial}}, status, reason, updated_at, finished_at, prune_at,
      percent, message, step, step_of, cancelled_by, result,
      slot_at, slot_allow, slot_details, retention_ms, dead_retention_ms)
    SELECT seq,
      {{job.kept -dedupeKey -serial | %column | , | fence=lease_fence | begunAt=lease_begun_at | spent=spent + 1}},
      'COMPLETED', 'returned', p_now, p_now, p_now + retention_ms,
      100, lease_message, lease_step, lease_step_of, cancelled_by, lease_result,
      slot_at, slot_allow, slot_details, retention_ms, dead_retention_ms
    FROM gone)
  SELECT array_agg(lease_i), array_agg(id), array_agg(type) INTO v_done, v_ids, v_types FROM gone;
  IF v_ids IS NULL THEN RETURN '{}'; END IF;
  INSERT INTO duly.changes (at, n, entries) VALUES (p_now, cardinality(v_ids), json_build_array(v_ids,
    CASE WHEN v_types[1] = ALL (v_types) THEN to_json(v_types[1]) ELSE to_json(v_types) END, 'COMPLETED', 'returned', 100)::text);
  -- Statements of their own: they see who shut a gate for one of them while the rows above were waited for. Most stores have none of
  -- a kind, and to find that out once costs less than to look for every job.
  IF EXISTS (SELECT 1 FROM duly.gates) THEN
    v_followed := v_followed || ARRAY(SELECT ref FROM duly.gates WHERE ref = ANY (v_ids) AND kind <> 'serial');
  END IF;
  IF EXISTS (SELECT 1 FROM duly.schedules WHERE waits_for IS NOT NULL) THEN
    v_followed := v_followed || ARRAY(SELECT waits_for FROM duly.schedules WHERE waits_for = ANY (v_ids));
  END IF;
  IF v_followed <> '{}' THEN
    FOR v_id IN SELECT DISTINCT f FROM unnest(v_followed) f LOOP
      v_job.id := v_id;
      PERFORM duly.set_free_1(p_now, v_job, 'COMPLETED');
    END LOOP;
  END IF;
  RETURN v_done;
END $$;

-- `p_ids` …: attempts that simply returned and used one up, with their places in the caller's list (null: as they stand); `p_settle`: the
-- others, each with its place.
-- call: exchange
CREATE FUNCTION duly.exchange_1(
  p_now bigint, p_ids text[], p_fences bigint[], p_results text[], p_places bigint[], p_settle jsonb, p_claim jsonb, p_repeat boolean
) RETURNS text LANGUAGE plpgsql
SET lock_timeout = '2s' AS $$
DECLARE
  v_now bigint := duly.begin_1(p_now);
  v_done bigint[] := '{}';
  v_lost bigint[] := '{}';
  v_settle jsonb := p_settle;
  v_one jsonb;
  v_claim record;
BEGIN
  IF p_ids IS NOT NULL THEN
    -- Those who wait for one of them will want their serial places.
    IF EXISTS (SELECT 1 FROM duly.gates) THEN
      PERFORM duly.lock_serials_1(ARRAY(
        SELECT duly.serial_ref_1(w.tenant, w.serial) FROM duly.gates g JOIN duly.jobs w ON w.id = ANY (ARRAY[g.job])
        WHERE g.ref = ANY (p_ids) AND g.kind <> 'serial' AND w.serial IS NOT NULL));
    END IF;
    v_done := duly.settle_returned_1(v_now, p_ids, p_fences, p_results);
    IF cardinality(v_done) < cardinality(p_ids) THEN
      -- What could not be ended together is judged by itself, in its place.
      SELECT coalesce(v_settle, '[]') || jsonb_agg(jsonb_build_object('id', s.id, 'fence', s.fence, 'to', 'COMPLETED', 'reason', 'returned',
        'spends', true, 'started', true, 'loss', 'none', 'result', s.result, 'i', coalesce(s.place, s.i - 1))) INTO v_settle
      FROM unnest(p_ids, p_fences, p_results, p_places) WITH ORDINALITY AS s (id, fence, result, place, i) WHERE NOT s.i = ANY (v_done);
    END IF;
  END IF;
  IF v_settle IS NOT NULL THEN
    PERFORM duly.lock_around_1(ARRAY(SELECT s ->> 'id' FROM jsonb_array_elements(v_settle) s));
    FOR v_one IN SELECT s FROM jsonb_array_elements(v_settle) s ORDER BY (s ->> 'i')::bigint LOOP
      IF NOT duly.settle_1(v_now, v_one, p_repeat) THEN v_lost := v_lost || (v_one ->> 'i')::bigint; END IF;
    END LOOP;
  END IF;
  IF p_claim IS NULL THEN
    RETURN json_build_object('now', v_now, 'hints', duly.hints_1(), 'lost', to_json(v_lost), 'claimed', '[]'::json, 'more', false,
      'soloSinceAt', NULL, 'nextDueAt', NULL)::text;
  END IF;
  v_claim := duly.claim_1(v_now, p_claim, p_repeat);
  RETURN json_build_object('now', v_now, 'hints', duly.hints_1(), 'lost', to_json(v_lost), 'claimed', v_claim.claimed,
    'more', v_claim.more, 'soloSinceAt', v_claim.solo_since, 'nextDueAt', v_claim.next_at, 'looked', v_claim.looked)::text;
END $$;

-- A claim and nothing else, as a worker sends it that has nothing to do and hears of a job, or knows when one is due: answers what exchange_1
-- would, by as few statements as it takes. It can while nothing is overdue, paused or suspect, and either none is due and one lane of the store has
-- jobs, or no lane has and the caller can take whatever is due. All else goes the long way. Each
-- statement, and each expression of a function, is made ready anew in every transaction, and for a lone job that is most of what a claim costs.
-- So what is asked for comes as arguments; `p_claim` is the whole of it, for the long way.
-- call: claimAlone
CREATE FUNCTION duly.claim_alone_1(
  p_now bigint, p_types text[], p_versions integer[], p_limits integer[], p_queues text[], p_limit integer, p_node text, p_token text,
  p_lease_ms bigint, p_claim text
) RETURNS text LANGUAGE plpgsql
SET lock_timeout = '2s' AS $$
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
  -- See claim_1 for each of these. What is ready stands in one index, first by whether it is suspect and then by lanes: if its first and its
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
    RETURN duly.exchange_1(p_now, NULL, NULL, NULL, NULL, NULL, p_claim::jsonb, false);
  END IF;
  IF v_limit > 0 AND v_lone AND (p_limit > 1 OR v_due = 1) THEN
    -- What take_1 does, for one, and promote_1 before it. The instant is read when the row is locked (see after_lock_1).
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
    IF v_id IS NULL THEN RETURN duly.exchange_1(p_now, NULL, NULL, NULL, NULL, NULL, p_claim::jsonb, false); END IF;
    IF v_claimed IS NULL THEN v_claimed := duly.leased_1(ARRAY[v_id], ARRAY[v_fence], '{false}'); END IF;
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
    IF v_rows IS NULL THEN RETURN duly.exchange_1(p_now, NULL, NULL, NULL, NULL, NULL, p_claim::jsonb, false); END IF;
    v_claimed := duly.take_1(v_now, p_claim::jsonb, v_rows, NULL);
    -- One that somebody has is still to be looked at.
    IF cardinality(v_rows) = v_due THEN v_next := v_after; END IF;
  ELSIF v_limit > 0 THEN
    SELECT array_agg(t.ctid ORDER BY t.rank, t.seq), max(t.rank) INTO v_rows, v_rank FROM (
      SELECT j.ctid, j.rank, j.seq FROM duly.jobs j
      WHERE j.rank IS NOT NULL AND j.solo = 0 AND j.type = v_type AND j.version = v_version AND j.queue = v_queue AND j.rank >= v_rank
      ORDER BY j.rank, j.seq LIMIT least(v_limit, p_limit) FOR UPDATE SKIP LOCKED) t;
    IF v_rows IS NOT NULL THEN
      v_claimed := duly.take_1(v_now, p_claim::jsonb, v_rows, v_type);
      v_more := cardinality(v_rows) = p_limit AND EXISTS (SELECT 1 FROM duly.jobs j
        WHERE j.rank IS NOT NULL AND j.solo = 0 AND j.type = v_type AND j.version = v_version AND j.queue = v_queue AND j.rank >= v_rank);
    END IF;
  END IF;
  RETURN json_build_object('now', v_now, 'lost', '[]'::json, 'claimed', coalesce(v_claimed, '[]'::json), 'more', v_more,
    'soloSinceAt', NULL, 'nextDueAt', v_next)::text;
END $$;

-- Takes work together with what was just made. If the caller took all of it, nobody else is woken for it.
-- `p_made` null: more happened than that jobs were made, and the others may have to know.
CREATE FUNCTION duly.claim_made_1(p_now bigint, p_claim jsonb, p_repeat boolean, p_made text[]) RETURNS json LANGUAGE plpgsql AS $$
DECLARE v_claim record;
BEGIN
  IF p_claim IS NULL THEN RETURN '[]'; END IF;
  v_claim := duly.claim_1(p_now, p_claim, p_repeat);
  IF p_made IS NOT NULL AND duly.took_all_1(v_claim.claimed, p_made) THEN PERFORM duly.unhint_1('j'); END IF;
  RETURN v_claim.claimed;
END $$;

-- `p_plain`: all jobs are plain and come by columns, those of all groups together. The answer then says what each became by its due instant.
CREATE FUNCTION duly.enqueue_1(p_now bigint, p_groups jsonb, p_plain jsonb, p_claim jsonb, p_repeat boolean) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  v_now bigint := duly.begin_1(p_now);
  v_replies json[] := '{}';
  v_items json[];
  v_group jsonb;
  v_spec jsonb;
  v_keyed jsonb;
  v_made text[];
  v_claimed json;
  v_state text;
  v_message text;
  v_hint text;
  v_detail text;
BEGIN
  IF p_plain IS NOT NULL THEN
    IF jsonb_array_length(p_plain -> 'columns' -> 'id') > 0 THEN PERFORM duly.make_plain_1(v_now, p_plain); END IF;
    IF p_claim IS NOT NULL THEN v_made := ARRAY(SELECT jsonb_array_elements_text(p_plain -> 'columns' -> 'id')); END IF;
    v_claimed := duly.claim_made_1(v_now, p_claim, p_repeat, v_made);
    RETURN json_build_object('now', v_now, 'hints', duly.hints_1(), 'claimed', v_claimed)::text;
  END IF;
  SELECT jsonb_agg(s) INTO v_keyed FROM jsonb_array_elements(p_groups) g CROSS JOIN jsonb_array_elements(g) s
  WHERE jsonb_typeof(s -> 'dedupe') = 'object';
  IF jsonb_array_length(v_keyed) > 0 THEN PERFORM duly.take_keys_1(v_now, v_keyed); END IF;
  -- Then the serial keys: of the jobs, and of those that hold a key or follow and may be moved.
  PERFORM duly.lock_serials_1(ARRAY(
    SELECT duly.serial_ref_1(s ->> 'tenant', s ->> 'serial') FROM jsonb_array_elements(p_groups) g CROSS JOIN jsonb_array_elements(g) s
    -- One that is made in the user's own transaction takes no place, and must not keep others from theirs until the commit.
    WHERE s ->> 'serial' IS NOT NULL AND NOT coalesce((s ->> 'unplaced')::boolean, false)
    UNION SELECT duly.serial_ref_1(j.tenant, j.serial) FROM jsonb_array_elements(v_keyed) s
    JOIN duly.dedupes d ON d.type = ANY (ARRAY[s ->> 'type']) AND d.tenant = coalesce(s ->> 'tenant', '') AND d.key = s -> 'dedupe' ->> 'key'
    JOIN duly.jobs j ON j.id = ANY (ARRAY[d.job_id, d.follow_id]) WHERE j.serial IS NOT NULL));
  IF p_repeat THEN PERFORM duly.take_ids_1(v_now, p_groups); END IF;
  FOR v_group IN SELECT * FROM jsonb_array_elements(p_groups) LOOP
    LOOP
      BEGIN
        v_items := '{}';
        FOR v_spec IN SELECT * FROM jsonb_array_elements(v_group) LOOP
          v_items := v_items || duly.make_job_1(v_now, v_spec, p_repeat);
        END LOOP;
        v_replies := v_replies || json_build_object('ok', true, 'items', array_to_json(v_items));
        EXIT;
      EXCEPTION
        WHEN SQLSTATE 'DU010' THEN CONTINUE;
        WHEN SQLSTATE 'DU001' OR SQLSTATE 'DU002' THEN
          GET STACKED DIAGNOSTICS v_state = RETURNED_SQLSTATE, v_message = MESSAGE_TEXT, v_hint = PG_EXCEPTION_HINT, v_detail = PG_EXCEPTION_DETAIL;
          v_replies := v_replies || duly.refusal_1(v_state, v_message, v_hint, v_detail);
          EXIT;
      END;
    END LOOP;
  END LOOP;
  IF jsonb_array_length(v_keyed) > 0 THEN PERFORM duly.drop_keys_1(v_keyed); END IF;
  v_claimed := duly.claim_made_1(v_now, p_claim, p_repeat, CASE WHEN p_plain IS NULL THEN NULL ELSE v_made END);
  RETURN json_build_object('now', v_now, 'hints', duly.hints_1(), 'groups', array_to_json(v_replies), 'claimed', v_claimed)::text;
END $$;

-- Renews leases and writes beginnings. A row that is locked is being settled under its own fence, perhaps in somebody's long transaction:
-- told `kept`, not waited for. Or a reaper is just taking it over: that one is waited for, so that both say the same. A beginning that is not
-- written yet is never passed over: who is told `kept` starts the handler, and if the store did not know, a job that may start once would start again.
-- call: heartbeat
CREATE FUNCTION duly.heartbeat_1(p_now bigint, p_lease_ms bigint, p_leases jsonb) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  v_now bigint := duly.begin_1(p_now);
  -- Whose beginning is to be written, of those that are held under the fence they were sent with.
  v_begun text[] := ARRAY(
    SELECT b.id FROM jsonb_to_recordset(p_leases) AS b (id text, fence bigint, begun boolean)
    JOIN duly.leases l ON l.id = ANY (ARRAY[b.id]) AND l.fence = b.fence WHERE b.begun);
  v_rows tid[];
  v_held integer;
  v_answer json;
BEGIN
  -- First, while nothing else is held: as a rule another beat of the same node has the row, and it is waited for (at most 2 s).
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

-- `p_ended_by`: takes over only leases that had ended at this instant; null: all that have ended.
-- call: reap
CREATE FUNCTION duly.reap_1(p_now bigint, p_lease_ms bigint, p_limit integer, p_ended_by bigint) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  v_now bigint := duly.begin_1(p_now);
  v_expired integer;
  v_promoted record;
  v_types text[];
  v_rows tid[];
  v_jobs json;
  v_count integer := 0;
  v_next bigint;
BEGIN
  v_expired := duly.expire_overdue_1(v_now, p_limit);
  WITH RECURSIVE waiting AS (
    (SELECT type FROM duly.jobs WHERE rank IS NULL AND status IN ('SCHEDULED', 'RETRYING') ORDER BY type LIMIT 1)
    UNION ALL
    SELECT n.type FROM waiting w CROSS JOIN LATERAL (
      SELECT j.type FROM duly.jobs j WHERE j.rank IS NULL AND j.status IN ('SCHEDULED', 'RETRYING') AND j.type > w.type
      ORDER BY j.type LIMIT 1) n)
  SELECT array_agg(type) INTO v_types FROM waiting;
  v_promoted := duly.promote_1(v_now, v_types, p_limit);
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
    SELECT json_build_array({{job.claim | json_agg(j.%column) | , | fence=json_agg(j.lease_fence) | begunAt=json_agg(j.begun)
      | slot=json_agg(j.slot), json_agg(j.slot_details)}}), count(*)
    INTO v_jobs, v_count FROM (
      SELECT j.*, t.fence AS lease_fence, t.begun_at IS NOT NULL AS begun FROM taken t JOIN duly.jobs j ON j.id = ANY (ARRAY[t.id])
      ORDER BY t.n) j;
  END IF;
  -- When the next lease or start deadline ends.
  SELECT least((SELECT min(until_at) FROM duly.leases),
    (SELECT expire_at + 1 FROM duly.jobs WHERE expire_at IS NOT NULL AND started_at IS NULL ORDER BY expire_at LIMIT 1)) INTO v_next;
  RETURN json_build_object('now', v_now, 'hints', duly.hints_1(), 'jobs', coalesce(v_jobs, '[]'::json), 'expired', v_expired,
    'promoted', v_promoted.moved, 'more', NOT v_promoted.is_all OR v_expired >= p_limit OR v_count >= p_limit, 'nextAt', v_next)::text;
END $$;

CREATE FUNCTION duly.report_1(p_now bigint, p_reports jsonb, p_log_limit bigint) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  v_now bigint := duly.begin_1(p_now);
  v_kept boolean[] := '{}';
  v_one jsonb;
  v_progress jsonb;
  v_type text;
  v_attempt integer;
  v_percent double precision;
BEGIN
  FOR v_one IN SELECT * FROM jsonb_array_elements(p_reports) LOOP
    SELECT percent INTO v_percent FROM duly.leases WHERE id = v_one ->> 'id' AND fence = (v_one ->> 'fence')::bigint FOR UPDATE;
    IF NOT FOUND THEN
      v_kept := v_kept || false;
      CONTINUE;
    END IF;
    v_kept := v_kept || true;
    SELECT type, attempt INTO v_type, v_attempt FROM duly.jobs WHERE id = v_one ->> 'id';
    v_progress := nullif(v_one -> 'progress', 'null');
    IF v_progress IS NOT NULL THEN
      -- Progress never goes back within an attempt.
      v_percent := greatest(v_percent, (v_progress ->> 'percent')::double precision);
      UPDATE duly.leases SET percent = v_percent, message = v_progress ->> 'message', step = (v_progress ->> 'step')::double precision,
        step_of = (v_progress ->> 'of')::double precision, reported_at = v_now
      WHERE id = v_one ->> 'id';
      PERFORM duly.changed_1(v_now, v_one ->> 'id', v_type, 'RUNNING', 'progress', v_percent);
    END IF;
    PERFORM duly.append_logs_1(v_one ->> 'id', v_attempt, v_one -> 'logs', p_log_limit);
  END LOOP;
  RETURN json_build_object('now', v_now, 'hints', duly.hints_1(), 'kept', to_json(v_kept))::text;
END $$;

-- A lone job that whoever makes it also takes, as with now() on a node that has nothing to do, is made as RUNNING: one row instead of two
-- versions of it, and a fourth of the statements.

-- Whether a claim would be given just these new jobs, so many of one type: nothing else is ready, due, overdue or paused.
CREATE FUNCTION duly.takes_just_1(p_now bigint, p_claim jsonb, p_type text, p_version integer, p_queue text, p_count integer)
RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
  RETURN (p_claim ->> 'limit')::integer >= p_count
    AND (jsonb_typeof(p_claim -> 'queues') <> 'array' OR p_claim -> 'queues' ? p_queue)
    AND EXISTS (
      SELECT 1 FROM jsonb_array_elements(p_claim -> 'tasks') t
      WHERE t ->> 'type' = p_type AND (t ->> 'version')::integer >= p_version AND (t ->> 'limit')::integer >= p_count)
    AND NOT EXISTS (SELECT 1 FROM duly.jobs WHERE rank IS NOT NULL AND solo > 0)
    AND CASE WHEN p_claim -> 'floors' IS NULL THEN NOT EXISTS (SELECT 1 FROM duly.jobs WHERE rank IS NOT NULL)
      ELSE NOT EXISTS (
        SELECT 1 FROM jsonb_to_recordset(p_claim -> 'floors' -> 'lanes') AS l (type text, version integer, queue text, rank bigint)
        CROSS JOIN LATERAL (
          SELECT 1 FROM duly.jobs j
          WHERE j.rank IS NOT NULL AND j.solo = 0 AND j.type = l.type AND j.version = l.version AND j.queue = l.queue AND j.rank >= l.rank
          LIMIT 1) r) END
    AND NOT EXISTS (SELECT 1 FROM duly.records WHERE kind = 'pause')
    AND NOT EXISTS (SELECT 1 FROM duly.left_places)
    AND NOT EXISTS (SELECT 1 FROM duly.jobs WHERE expire_at IS NOT NULL AND started_at IS NULL AND expire_at < p_now)
    AND NOT EXISTS (
      SELECT 1 FROM jsonb_array_elements(p_claim -> 'tasks') t CROSS JOIN LATERAL (
        SELECT 1 FROM duly.jobs j WHERE j.rank IS NULL AND j.status IN ('SCHEDULED', 'RETRYING') AND j.type = t ->> 'type' AND j.due_at <= p_now
          AND j.due_at >= coalesce((p_claim -> 'floors' ->> 'dueAt')::bigint, -9223372036854775808)
        LIMIT 1) d);
END $$;

-- Plain jobs that differ in nothing but their input, made together, with a claim beside them; `p_shared` is what they have in common. Fails
-- (unique violation) where an id is there already: then the caller begins again with care.
-- call: enqueueAlike
CREATE FUNCTION duly.enqueue_alike_1(p_now bigint, p_ids text[], p_inputs text[], p_shared jsonb, p_claim jsonb) RETURNS text LANGUAGE plpgsql
SET lock_timeout = '2s' AS $$
DECLARE
  v_now bigint := coalesce(p_now, floor(extract(epoch FROM statement_timestamp()) * 1000)::bigint);
  s record;
  v_due bigint;
  v_rank bigint;
  v_status text;
  v_fence bigint;
  v_read bigint;
  v_claim record;
BEGIN
  IF p_claim IS NULL THEN
    -- One statement: see claim_alone_1.
    WITH made AS (
      INSERT INTO duly.jobs (
        {{job.caller -serial}}, status, rank, due_at, expire_at, created_at, updated_at, max_attempts, retention_ms, dead_retention_ms)
      SELECT {{job.caller -serial | c."%field" | , | id=j.id | input=coalesce(j.input, c.input)}},
        CASE WHEN d.due <= v_now THEN 'PENDING' ELSE 'SCHEDULED' END,
        CASE WHEN d.due <= v_now THEN d.due + c."rankOffsetMs" END, d.due, d.due + c."startDeadlineMs", v_now, v_now,
        c."maxAttempts", c."retentionMs", c."deadRetentionMs"
      FROM jsonb_to_record(p_shared) AS c (
        {{job.caller -id -serial | "%field" %sql}}, at bigint, "inMs" bigint, "startDeadlineMs" bigint, "maxAttempts" integer,
        "retentionMs" bigint, "deadRetentionMs" bigint)
      CROSS JOIN LATERAL (SELECT coalesce(c.at, v_now + c."inMs") AS due) d
      CROSS JOIN unnest(p_ids, p_inputs) AS j (id, input))
    INSERT INTO duly.changes (at, n, entries)
    SELECT v_now, cardinality(p_ids), json_build_array(p_ids, p_shared ->> 'type',
      CASE WHEN coalesce((p_shared ->> 'at')::bigint, v_now + (p_shared ->> 'inMs')::bigint) <= v_now THEN 'PENDING' ELSE 'SCHEDULED' END,
      'made', 0)::text;
    PERFORM duly.refuse_late_1(p_ids);
    RETURN json_build_object('now', v_now, 'claimed', '[]'::json, 'hints', 'j')::text;
  END IF;
  v_read := duly.pages_read_1();
  SELECT * INTO s FROM jsonb_to_record(p_shared) AS s (
    {{job.caller -id -serial | "%field" %sql}}, at bigint, "inMs" bigint, "startDeadlineMs" bigint, "maxAttempts" integer,
    "retentionMs" bigint, "deadRetentionMs" bigint);
  v_due := coalesce(s.at, v_now + s."inMs");
  IF cardinality(p_ids) = 1 AND v_due <= v_now AND duly.takes_just_1(v_now, p_claim, s.type, s.version, s.queue, 1) THEN
    v_read := duly.pages_read_1() - v_read;
    v_fence := nextval('duly.fence');
    WITH made AS (
      INSERT INTO duly.jobs (
        {{job.caller -serial}}, status, due_at, expire_at, created_at, updated_at, started_at, lateness_ms,
        fence, node, claimed_at, attempt, max_attempts, retention_ms, dead_retention_ms)
      VALUES ({{job.caller -serial | s."%field" | , | id=p_ids[1] | input=coalesce(p_inputs[1], s.input)}},
        'RUNNING', v_due, v_due + s."startDeadlineMs",
        v_now, v_now, v_now, v_now - v_due, v_fence, p_claim ->> 'node', v_now, 1, s."maxAttempts", s."retentionMs", s."deadRetentionMs")
      RETURNING seq),
    leased AS (
      INSERT INTO duly.leases (id, seq, fence, node, token, plain, until_at)
      SELECT p_ids[1], seq, v_fence, p_claim ->> 'node', p_claim ->> 'token', true, v_now + (p_claim ->> 'leaseMs')::bigint FROM made)
    INSERT INTO duly.changes (at, n, entries) VALUES
      (v_now, 1, json_build_array(p_ids, s.type, 'PENDING', 'made', 0)::text),
      (v_now, 1, json_build_array(p_ids, s.type, 'RUNNING', 'claimed', 0)::text);
    PERFORM duly.refuse_late_1(p_ids);
    -- See claim_1: nothing lives in any lane.
    RETURN json_build_object('now', v_now, 'looked', CASE WHEN p_claim -> 'floors' IS NOT NULL OR v_read > 300 THEN
      json_build_object('isFull', p_claim -> 'floors' IS NULL, 'pages', v_read, 'isAllPromoted', true, 'lanes', '[]'::json) END,
      'claimed', json_build_object(
      'columns', json_build_array(
        {{job.claimColumns | CASE WHEN s."%field" IS NOT NULL THEN json_build_array(s."%field") END | ,
        | id=p_ids | fence=json_build_array(v_fence) | input=json_build_array(coalesce(p_inputs[1], s.input))
        | createdAt=json_build_array(v_now) | dueAt=json_build_array(v_due) | slot=NULL, NULL}}),
      {{job.claim +caller +shared | '%field', s."%field"}}, 'claimedAt', v_now, 'attempt', 1,
      'spent', 0, 'maxAttempts', s."maxAttempts", 'losses', 0, 'begunLosses', 0))::text;
  END IF;
  v_status := CASE WHEN v_due <= v_now THEN 'PENDING' ELSE 'SCHEDULED' END;
  IF v_due <= v_now THEN v_rank := v_due + s."rankOffsetMs"; END IF;
  INSERT INTO duly.jobs (
    {{job.caller -serial}}, status, rank, due_at, expire_at, created_at, updated_at, max_attempts, retention_ms, dead_retention_ms)
  SELECT {{job.caller -serial | s."%field" | , | id=j.id | input=coalesce(j.input, s.input)}}, v_status, v_rank, v_due,
    v_due + s."startDeadlineMs", v_now, v_now, s."maxAttempts", s."retentionMs", s."deadRetentionMs"
  FROM unnest(p_ids, p_inputs) AS j (id, input);
  INSERT INTO duly.changes (at, n, entries)
  VALUES (v_now, cardinality(p_ids), json_build_array(p_ids, s.type, v_status, 'made', 0)::text);
  PERFORM duly.refuse_late_1(p_ids);
  PERFORM set_config('duly_work.hints', '', true);
  v_claim := duly.claim_1(v_now, p_claim, false);
  -- Who took all of it wakes nobody for it.
  RETURN json_build_object('now', v_now, 'claimed', v_claim.claimed, 'looked', v_claim.looked, 'hints',
    CASE WHEN duly.took_all_1(v_claim.claimed, p_ids) THEN duly.hints_1() ELSE 'j' || replace(duly.hints_1(), 'j', '') END)::text;
END $$;
