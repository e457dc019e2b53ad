-- Brings an ended job back: the same job, attempts numbered on, its policy's attempts granted again.
CREATE FUNCTION duly.retry_job(p_now bigint, p_id text, p_actor text, p_note text) RETURNS json LANGUAGE plpgsql AS $$
DECLARE
  v_job duly.jobs := duly.job_state(p_id);
  v_brief record;
  v_over duly.finished;
  v_last bigint;
  v_attempts text;
  v_status text;
BEGIN
  -- Still waiting or running: also the answer to a repeat of a retry that took effect.
  IF v_job.id IS NOT NULL THEN
    RETURN duly.changed_item(p_id, CASE WHEN v_job.reason = 'retried' THEN 'unchanged' ELSE 'refused' END, v_job.status, v_job.due_at);
  END IF;
  v_brief := duly.find_brief(p_id);
  IF v_brief.status IS NULL THEN RETURN duly.changed_item(p_id, 'missing', NULL, NULL); END IF;
  IF v_brief.status = 'COMPLETED' THEN RETURN duly.changed_item(p_id, 'refused', v_brief.status, v_brief.due_at); END IF;
  v_over := duly.take_history(p_id);
  -- Somebody else was faster.
  IF v_over.id IS NULL THEN RETURN duly.changed_item(p_id, 'unchanged', 'PENDING', p_now); END IF;
  v_attempts := v_over.attempts;
  SELECT coalesce(max((a ->> 'n')::bigint), 0) INTO v_last FROM json_array_elements(v_attempts::json) a;
  IF v_over.attempt > v_last AND v_over.claimed_at IS NOT NULL THEN
    v_attempts := duly.add_attempt(v_attempts, json_build_object('n', v_over.attempt, 'node', coalesce(v_over.node, ''),
      'fence', v_over.fence, 'startedAt', v_over.claimed_at, 'begunAt', v_over.begun_at, 'endedAt', v_over.finished_at,
      'reason', v_over.reason, 'error', v_over.error::json));
  END IF;
  PERFORM duly.insert_jobs(p_now, jsonb_build_object({{job.revived -createdAt -node -claimedAt -attempt -spent -dedupeKey -error | '%field', v_over.%column | , | id='id', p_id}},
    'at', p_now, 'maxAttempts', greatest(v_over.spent, v_over.max_attempts) + (v_over.policy::json ->> 'maxAttempts')::integer,
    'dedupe', jsonb_build_object('key', v_over.dedupe_key), 'slotAt', v_over.slot_at, 'slotAllow', v_over.slot_allow,
    'slotDetails', v_over.slot_details, 'retentionMs', v_over.retention_ms, 'deadRetentionMs', v_over.dead_retention_ms,
    'life', jsonb_build_object('reason', 'retried', 'createdAt', v_over.created_at, 'fence', nextval('duly.fence'), 'node', v_over.node,
      'claimedAt', v_over.claimed_at, 'attempt', v_over.attempt, 'spent', v_over.spent, 'error', v_over.error, 'attempts', v_attempts)));
  SELECT * INTO v_job FROM duly.jobs WHERE id = p_id;
  -- It holds its key again, unless the key is still held.
  IF v_over.dedupe_key IS NOT NULL THEN
    INSERT INTO duly.dedupes (type, tenant, key, job_id, created_at)
    VALUES (v_over.type, coalesce(v_over.tenant, ''), v_over.dedupe_key, p_id, p_now) ON CONFLICT DO NOTHING;
    IF NOT FOUND THEN
      UPDATE duly.dedupes SET job_id = p_id, until_at = NULL, created_at = p_now, ended = NULL, follow_id = NULL, follow_until = NULL
      WHERE type = v_over.type AND tenant = coalesce(v_over.tenant, '') AND key = v_over.dedupe_key
        AND until_at <= p_now AND (follow_id IS NULL OR follow_until <= p_now);
    END IF;
  END IF;
  v_status := duly.enter(p_now, v_job, 'retried');
  PERFORM duly.audit(p_now, p_actor, 'retry', 'job:' || p_id, json_build_object('status', v_over.status),
    json_build_object('status', v_status), p_note);
  RETURN duly.changed_item(p_id, 'changed', v_status, p_now);
END $$;

-- Retries one job. With `expectFence`, a job that has another fence was retried since it was read.
CREATE FUNCTION duly.retry_target(p_now bigint, p_target jsonb, p_actor text, p_note text) RETURNS json LANGUAGE plpgsql AS $$
DECLARE
  v_id text := p_target ->> 'id';
  v_expected bigint := (p_target ->> 'expectFence')::bigint;
  v_job duly.jobs;
  v_ended record;
  v_brief record;
BEGIN
  IF v_expected IS NULL THEN RETURN duly.retry_job(p_now, v_id, p_actor, p_note); END IF;
  v_job := duly.job_state(v_id);
  v_ended := duly.ended_state(v_id);
  IF coalesce(v_job.fence, v_ended.fence) = v_expected THEN RETURN duly.retry_job(p_now, v_id, p_actor, p_note); END IF;
  -- Neither was found if a retry at the same time brought it back.
  v_brief := duly.find_brief(v_id);
  RETURN duly.changed_item(v_id, CASE WHEN v_brief.status IS NULL THEN 'missing' ELSE 'unchanged' END, v_brief.status, v_brief.due_at);
END $$;

-- call: retry
CREATE FUNCTION duly.retry(p_now bigint, p_groups jsonb) RETURNS text LANGUAGE plpgsql
SET lock_timeout = '2s'
SET plan_cache_mode = force_generic_plan SET jit = off SET enable_seqscan = off SET enable_bitmapscan = off
SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
  v_now bigint := duly.begin(p_now);
  v_group jsonb;
  v_target jsonb;
  v_items json[];
  v_replies json[] := '{}';
BEGIN
  FOR v_group IN SELECT * FROM jsonb_array_elements(p_groups) LOOP
    v_items := '{}';
    FOR v_target IN SELECT * FROM jsonb_array_elements(v_group -> 'targets') LOOP
      v_items := v_items || duly.retry_target(v_now, v_target, v_group ->> 'actor', v_group ->> 'note');
    END LOOP;
    v_replies := v_replies || json_build_object('ok', true, 'items', array_to_json(v_items));
  END LOOP;
  RETURN json_build_object('now', v_now, 'notifications', duly.notifications(), 'groups', array_to_json(v_replies))::text;
END $$;
