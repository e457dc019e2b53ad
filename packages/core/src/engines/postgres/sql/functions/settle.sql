-- Recording how attempts ended.

-- Whether an earlier, equal call settled this attempt: its fence ended with this reason, whatever the job did since.
CREATE FUNCTION duly.was_settled(p_id text, p_fence bigint, p_reason text) RETURNS boolean LANGUAGE plpgsql AS $$
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

CREATE FUNCTION duly.reschedule_attempt(p_now bigint, p_job duly.jobs, p_one jsonb) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  v_to text := p_one ->> 'to';
  v_reason text := p_one ->> 'reason';
  v_started boolean := (p_one ->> 'started')::boolean;
  v_release boolean := v_to = 'PENDING';
  -- A released job keeps its due time, and so its place in the order.
  v_due bigint := coalesce(duly.due_of(p_now, nullif(p_one -> 'due', 'null')), p_job.due_at);
  v_ready boolean := v_release OR (v_to = 'RETRYING' AND v_due <= p_now);
  v_unused boolean := v_release AND NOT v_started;
  v_progress jsonb := nullif(p_one -> 'report' -> 'progress', 'null');
  v_percent double precision := coalesce((v_progress ->> 'percent')::double precision, p_job.percent);
  v_job duly.jobs := p_job;
BEGIN
  UPDATE duly.jobs SET
    status = v_to, reason = v_reason, rank = CASE WHEN v_ready THEN v_due + rank_offset END, due_at = v_due, updated_at = p_now,
    fence = p_job.fence, begun_at = p_job.begun_at,
    solo = coalesce((p_one ->> 'solo')::smallint, solo),
    attempt = CASE WHEN v_unused THEN attempt - 1 ELSE attempt END,
    spent = p_job.spent, losses = p_job.losses, begun_losses = p_job.begun_losses,
    started_at = p_job.started_at, lateness_ms = p_job.lateness_ms,
    percent = v_percent, message = coalesce(v_progress ->> 'message', p_job.message),
    step = coalesce((v_progress ->> 'step')::double precision, p_job.step),
    step_of = coalesce((v_progress ->> 'of')::double precision, p_job.step_of),
    error = coalesce(p_one ->> 'error', error),
    attempts = CASE WHEN v_unused THEN attempts ELSE duly.add_attempt(attempts, json_build_object(
      'n', p_job.attempt, 'node', coalesce(p_job.node, ''), 'fence', p_job.fence, 'startedAt', coalesce(p_job.claimed_at, p_now),
      'begunAt', p_job.begun_at, 'endedAt', p_now, 'reason', v_reason, 'error', (p_one ->> 'error')::json)) END
  WHERE id = p_job.id;
  DELETE FROM duly.leases WHERE id = p_job.id;
  PERFORM duly.changed(p_now, p_job.id, p_job.type, v_to,
    CASE WHEN v_reason IN ('snoozed', 'released', 'lost') THEN v_reason ELSE 'failed' END, v_percent);
  PERFORM duly.add_job_notification(p_job.type);
  IF v_to = 'SCHEDULED' THEN
    -- Put off: it competes for its serial place again when it is due.
    PERFORM duly.leave_serial(p_now, p_job);
    IF v_due <= p_now THEN
      v_job.status := 'SCHEDULED';
      v_job.due_at := v_due;
      PERFORM duly.enter(p_now, v_job, 'due');
    END IF;
  END IF;
END $$;

-- Records what became of one attempt, if its lease still holds.
CREATE FUNCTION duly.settle(p_now bigint, p_one jsonb, p_repeat boolean) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
  v_id text := p_one ->> 'id';
  v_fence bigint := (p_one ->> 'fence')::bigint;
  v_loss text := p_one ->> 'loss';
  v_to text := p_one ->> 'to';
  v_job duly.jobs := duly.job_state(v_id);
BEGIN
  IF v_job.id IS NULL OR v_job.fence <> v_fence OR v_job.status <> 'RUNNING' THEN
    IF NOT p_repeat OR NOT (duly.was_settled(v_id, v_fence, p_one ->> 'reason')
      OR (v_to NOT IN ('COMPLETED', 'FAILED', 'CANCELLED') AND duly.was_settled(v_id, v_fence, 'cancelled'))) THEN RETURN false; END IF;
    PERFORM duly.confirm();
    RETURN true;
  END IF;
  IF p_one ? 'impossible' THEN RETURN false; END IF;
  -- This claim would have been the first start, or the first since a retry, and the handler was not entered: the job has not started.
  IF NOT (p_one ->> 'started')::boolean AND v_to <> 'COMPLETED' AND v_job.started_at = v_job.claimed_at
    AND (v_job.spent = 0 OR v_job.reason = 'retried')
  THEN
    v_job.started_at := NULL;
    v_job.lateness_ms := NULL;
  END IF;
  v_job.spent := v_job.spent + (p_one ->> 'spends')::boolean::integer;
  v_job.losses := v_job.losses + (v_loss <> 'none')::integer;
  v_job.begun_losses := v_job.begun_losses + (v_loss = 'begun')::integer;
  IF jsonb_typeof(p_one -> 'report') = 'object' THEN
    PERFORM duly.append_logs(v_id, v_job.attempt, p_one -> 'report' -> 'logs', 1000);
  END IF;
  IF v_to IN ('COMPLETED', 'FAILED', 'CANCELLED') THEN
    PERFORM duly.finish(p_now, v_job, v_to, p_one ->> 'reason', p_one ->> 'result', p_one ->> 'error',
      nullif(p_one -> 'report' -> 'progress', 'null'), NULL, CASE WHEN v_loss <> 'none' THEN 'lost' END);
  ELSIF v_job.cancel_requested_at IS NOT NULL THEN
    -- What was asked to cancel does not come back, only to be cancelled then: its backoff may be an hour.
    PERFORM duly.finish(p_now, v_job, 'CANCELLED', 'cancelled', NULL, p_one ->> 'error',
      nullif(p_one -> 'report' -> 'progress', 'null'), NULL, CASE WHEN v_loss <> 'none' THEN 'lost' END);
  ELSE
    PERFORM duly.reschedule_attempt(p_now, v_job, p_one);
  END IF;
  RETURN true;
END $$;

-- Ends many jobs that returned: what settle does for each, in a few statements for all. `p_results` null: none of them has one.
-- Answers the places of those that were recorded; those with a key or a serial place are left to settle, which locks more.
CREATE FUNCTION duly.settle_returned(p_now bigint, p_ids text[], p_fences bigint[], p_results text[]) RETURNS bigint[] LANGUAGE plpgsql AS $$
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
      PERFORM duly.set_free(p_now, v_job, 'COMPLETED');
    END LOOP;
  END IF;
  RETURN v_done;
END $$;

-- Records one outcome. A lease that is no longer the caller's fails the whole transaction: what else was done in it must not stay.
-- Serial keys are not locked: others would wait for them until the commit, and so would every other key that shares the lock.
-- call: settleInTransaction
CREATE FUNCTION duly.settle_in_transaction(p_now bigint, p_settle jsonb) RETURNS text LANGUAGE plpgsql
SET plan_cache_mode = force_generic_plan SET jit = off SET enable_seqscan = off SET enable_bitmapscan = off
SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
  v_reply text;
BEGIN
  PERFORM set_config('duly_work.user_transaction', '1', true);
  v_reply := duly.exchange(p_now, NULL, NULL, NULL, NULL, p_settle, NULL, false);
  PERFORM set_config('duly_work.user_transaction', '', true);
  IF json_array_length(v_reply::json -> 'lost') > 0 THEN
    RAISE EXCEPTION USING ERRCODE = 'DU003',
      MESSAGE = format('Job "%s" is no longer held by this attempt, so the transaction that should complete it fails.', p_settle -> 0 ->> 'id'),
      HINT = 'Roll the transaction back and end the handler. The job is, or will be, taken by another worker, unless it is settled already.',
      DETAIL = json_build_object('id', p_settle -> 0 ->> 'id', 'fence', p_settle -> 0 -> 'fence')::text;
  END IF;
  RETURN v_reply;
END $$;
