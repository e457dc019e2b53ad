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
