-- Actions on many jobs, each with an audit row in the same transaction.

-- Records that a job was deleted, so that a repeat of the call that created it does not create it again. A call whose reply was lost is
-- repeated within seconds; a process that was suspended may repeat it hours later.
CREATE FUNCTION duly.remember_deletion(p_now bigint, p_id text, p_status text, p_due bigint) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO duly.journal AS j (scope, key, value, until_at)
  VALUES ('deleted', p_id, json_build_object('status', p_status, 'dueAt', p_due)::text, p_now + 86400000)
  ON CONFLICT (scope, key) DO UPDATE SET value = excluded.value, until_at = excluded.until_at;
END $$;

-- The state of a job that has ended, with its row locked. All null: it has not ended.
CREATE FUNCTION duly.ended_state(
  p_id text, OUT status text, OUT due_at bigint, OUT fence bigint, OUT updated_at bigint, OUT dead boolean
) LANGUAGE plpgsql AS $$
BEGIN
  SELECT j.status, j.due_at, j.fence, j.updated_at, true INTO status, due_at, fence, updated_at, dead
  FROM duly.dead j WHERE j.id = p_id FOR UPDATE;
  IF FOUND THEN RETURN; END IF;
  SELECT j.status, j.due_at, j.fence, j.updated_at, false INTO status, due_at, fence, updated_at, dead
  FROM duly.finished j WHERE j.id = p_id ORDER BY j.seq DESC LIMIT 1 FOR UPDATE;
END $$;

-- Does one action to one job if its status allows it and it is as expected. Missing expectations are not compared.
CREATE FUNCTION duly.apply_action(p_now bigint, p_target jsonb, p_action text, p_actor text, p_note text) RETURNS json LANGUAGE plpgsql AS $$
DECLARE
  v_id text := p_target ->> 'id';
  v_job duly.jobs := duly.job_state(v_id);
  v_live boolean := v_job.id IS NOT NULL;
  v_ended record;
  v_over duly.finished;
  v_status text := v_job.status;
  v_due bigint := v_job.due_at;
  v_fence bigint := v_job.fence;
  v_updated bigint := v_job.updated_at;
  v_dead boolean := false;
BEGIN
  IF NOT v_live THEN
    v_ended := duly.ended_state(v_id);
    -- It is missing, or a retry that ran at the same time brought it back.
    IF v_ended.status IS NULL THEN RETURN duly.not_live(v_id); END IF;
    v_status := v_ended.status;
    v_due := v_ended.due_at;
    v_fence := v_ended.fence;
    v_updated := v_ended.updated_at;
    v_dead := v_ended.dead;
  END IF;
  IF v_fence <> (p_target ->> 'expectFence')::bigint
    OR (CASE WHEN v_status = 'SCHEDULED' AND v_due <= p_now THEN 'PENDING' ELSE v_status END) <> (p_target ->> 'expectStatus')
    OR (v_status <> 'RUNNING' AND v_updated <> (p_target ->> 'expectUpdatedAt')::bigint) THEN
    RETURN duly.changed_item(v_id, 'refused', v_status, v_due);
  END IF;
  IF p_action IN ('cancel', 'terminate') THEN
    IF v_live THEN RETURN duly.cancel_job(p_now, v_job, CASE p_action WHEN 'cancel' THEN 'ask' ELSE 'terminate' END, p_actor, p_note); END IF;
    -- A repeat of a cancel that took effect.
    RETURN duly.changed_item(v_id, CASE v_status WHEN 'CANCELLED' THEN 'unchanged' ELSE 'refused' END, v_status, v_due);
  END IF;
  -- It also knows a job that was retried already.
  IF p_action = 'retry' THEN RETURN duly.retry_job(p_now, v_id, p_actor, p_note); END IF;
  IF p_action = 'delete' THEN
    -- A running job belongs to a worker: it is cancelled first, then deleted.
    IF v_status = 'RUNNING' THEN RETURN duly.changed_item(v_id, 'refused', v_status, v_due); END IF;
    IF v_live THEN
      PERFORM duly.audit_job(p_now, p_actor, p_note, 'delete', v_job, NULL);
      DELETE FROM duly.jobs WHERE id = v_id;
      PERFORM duly.changed(p_now, v_id, v_job.type, 'CANCELLED', 'deleted', v_job.percent);
      PERFORM duly.set_free(p_now, v_job, 'deleted');
      PERFORM duly.remember_deletion(p_now, v_id, 'CANCELLED', v_due);
    ELSE
      v_over := duly.take_history(v_id);
      PERFORM duly.audit(p_now, p_actor, 'delete', 'job:' || v_id, json_build_object('status', v_status), NULL, p_note);
      PERFORM duly.changed(p_now, v_id, v_over.type, v_status, 'deleted', v_over.percent);
      PERFORM duly.remember_deletion(p_now, v_id, v_status, v_due);
    END IF;
    PERFORM duly.forget(ARRAY[v_id]);
    RETURN duly.changed_item(v_id, 'changed', NULL, NULL);
  END IF;
  -- discard: no dead letter any more, but history as any other ended job.
  IF NOT v_dead THEN RETURN duly.changed_item(v_id, 'refused', v_status, v_due); END IF;
  DELETE FROM duly.dead WHERE id = v_id RETURNING * INTO v_over;
  v_over.prune_at := p_now + v_over.retention_ms;
  v_over.updated_at := p_now;
  INSERT INTO duly.finished SELECT v_over.*;
  PERFORM duly.audit(p_now, p_actor, 'discard', 'job:' || v_id, json_build_object('dead', true), json_build_object('dead', false), p_note);
  RETURN duly.changed_item(v_id, 'changed', v_status, v_due);
END $$;

-- call: act
CREATE FUNCTION duly.act(p_now bigint, p_groups jsonb) RETURNS text LANGUAGE plpgsql
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
  PERFORM duly.lock_dependents(ARRAY(
    SELECT t ->> 'id' FROM jsonb_array_elements(p_groups) g CROSS JOIN jsonb_array_elements(g -> 'targets') t));
  FOR v_group IN SELECT * FROM jsonb_array_elements(p_groups) LOOP
    v_items := '{}';
    FOR v_target IN SELECT * FROM jsonb_array_elements(v_group -> 'targets') LOOP
      v_items := v_items || duly.apply_action(v_now, v_target, v_group ->> 'action', v_group ->> 'actor', v_group ->> 'note');
    END LOOP;
    v_replies := v_replies || json_build_object('ok', true, 'items', array_to_json(v_items));
  END LOOP;
  RETURN json_build_object('now', v_now, 'notifications', duly.notifications(), 'groups', array_to_json(v_replies))::text;
END $$;
