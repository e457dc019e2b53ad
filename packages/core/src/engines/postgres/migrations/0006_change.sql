-- What a person or program does to promises already made: each with an audit row in the same transaction.

CREATE FUNCTION duly.changed_item_1(p_id text, p_result text, p_status text, p_due bigint) RETURNS json LANGUAGE sql AS $$
  SELECT json_build_object('id', p_id, 'result', p_result, 'status', p_status, 'dueAt', p_due)
$$;

CREATE FUNCTION duly.audit_job_1(p_now bigint, p_actor text, p_note text, p_action text, p_job duly.jobs, p_after json)
RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  PERFORM duly.audit_1(p_now, p_actor, p_action, 'job:' || p_job.id,
    json_build_object('status', p_job.status, 'dueAt', p_job.due_at), p_after, p_note);
END $$;

-- The id of the job that holds a dedupe key at this instant. Once its holder's time is over, the follow-up behind that one does.
CREATE FUNCTION duly.holder_1(p_now bigint, p_type text, p_tenant text, p_key text) RETURNS text LANGUAGE sql STABLE AS $$
  SELECT CASE WHEN until_at <= p_now THEN follow_id ELSE job_id END FROM duly.dedupes
  WHERE type = p_type AND tenant = coalesce(p_tenant, '') AND key = p_key
    AND (until_at IS NULL OR until_at > p_now OR (follow_id IS NOT NULL AND (follow_until IS NULL OR follow_until > p_now)))
$$;

-- Cancels one live job. `p_job` is what life_1 gave.
CREATE FUNCTION duly.cancel_job_1(p_now bigint, p_job duly.jobs, p_mode text, p_actor text, p_note text) RETURNS json LANGUAGE plpgsql AS $$
DECLARE v_job duly.jobs := p_job;
BEGIN
  IF p_job.status = 'RUNNING' AND p_mode = 'ask' THEN
    IF p_job.cancel_requested_at IS NOT NULL THEN RETURN duly.changed_item_1(p_job.id, 'unchanged', p_job.status, p_job.due_at); END IF;
    UPDATE duly.jobs SET cancel_requested_at = p_now, cancelled_by = coalesce(cancelled_by, p_actor), updated_at = p_now WHERE id = p_job.id;
    UPDATE duly.leases SET cancel_at = p_now WHERE id = p_job.id;
    PERFORM duly.audit_job_1(p_now, p_actor, p_note, 'cancel', p_job,
      json_build_object('status', p_job.status, 'cancelRequestedAt', p_now));
    PERFORM duly.changed_1(p_now, p_job.id, p_job.type, p_job.status, 'cancel-asked', p_job.percent);
    PERFORM duly.hint_1('c');
    RETURN duly.changed_item_1(p_job.id, 'asked', p_job.status, p_job.due_at);
  END IF;
  PERFORM duly.audit_job_1(p_now, p_actor, p_note, CASE p_mode WHEN 'ask' THEN 'cancel' ELSE 'terminate' END, p_job,
    json_build_object('status', 'CANCELLED'));
  -- A running attempt must not be able to settle any more.
  IF p_job.status = 'RUNNING' THEN v_job.fence := nextval('duly.fence'); END IF;
  PERFORM duly.finish_1(p_now, v_job, 'CANCELLED', 'cancelled', p_cancelled_by => p_actor);
  IF p_job.status = 'RUNNING' THEN PERFORM duly.hint_1('c'); END IF;
  RETURN duly.changed_item_1(p_job.id, 'changed', 'CANCELLED', p_job.due_at);
END $$;

-- What there is to say of a target that is not live: over, or missing.
CREATE FUNCTION duly.not_live_1(p_id text) RETURNS json LANGUAGE plpgsql AS $$
DECLARE v_brief record := duly.find_brief_1(p_id);
BEGIN
  IF v_brief.status IS NULL THEN RETURN duly.changed_item_1(p_id, 'missing', NULL, NULL); END IF;
  RETURN duly.changed_item_1(p_id, 'refused', v_brief.status, v_brief.due_at);
END $$;

-- Cancels what a target names; a key names its holder and the follow-up behind it.
CREATE FUNCTION duly.cancel_target_1(p_now bigint, p_target jsonb, p_mode text, p_actor text, p_note text) RETURNS json LANGUAGE plpgsql AS $$
DECLARE
  v_id text := p_target ->> 'id';
  v_follow text;
  v_job duly.jobs;
  v_item json;
BEGIN
  IF p_target ? 'key' THEN
    SELECT follow_id INTO v_follow FROM duly.dedupes
    WHERE type = p_target ->> 'type' AND tenant = coalesce(p_target ->> 'tenant', '') AND key = p_target ->> 'key' FOR UPDATE;
    v_id := duly.holder_1(p_now, p_target ->> 'type', p_target ->> 'tenant', p_target ->> 'key');
    -- First, or the end of the holder would let it run.
    IF v_follow IS DISTINCT FROM v_id AND v_follow IS NOT NULL THEN
      v_job := duly.life_1(v_follow);
      IF v_job.id IS NOT NULL THEN PERFORM duly.cancel_job_1(p_now, v_job, p_mode, p_actor, p_note); END IF;
    END IF;
    IF v_id IS NULL THEN RETURN duly.changed_item_1(NULL, 'missing', NULL, NULL); END IF;
  END IF;
  v_job := duly.life_1(v_id);
  IF v_job.id IS NOT NULL THEN RETURN duly.cancel_job_1(p_now, v_job, p_mode, p_actor, p_note); END IF;
  v_item := duly.not_live_1(v_id);
  -- A repeat of a cancel that took effect.
  IF v_item ->> 'status' = 'CANCELLED' THEN
    RETURN duly.changed_item_1(v_id, 'unchanged', 'CANCELLED', (v_item ->> 'dueAt')::bigint);
  END IF;
  RETURN v_item;
END $$;

-- call: cancel
CREATE FUNCTION duly.cancel_1(p_now bigint, p_groups jsonb) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  v_now bigint := duly.begin_1(p_now);
  v_group jsonb;
  v_target jsonb;
  v_items json[];
  v_replies json[] := '{}';
BEGIN
  PERFORM duly.lock_around_1(ARRAY(
    SELECT t ->> 'id' FROM jsonb_array_elements(p_groups) g CROSS JOIN jsonb_array_elements(g -> 'targets') t WHERE t ? 'id'
    UNION SELECT unnest(ARRAY[d.job_id, d.follow_id])
    FROM jsonb_array_elements(p_groups) g CROSS JOIN jsonb_array_elements(g -> 'targets') t
    JOIN duly.dedupes d ON d.type = ANY (ARRAY[t ->> 'type']) AND d.tenant = coalesce(t ->> 'tenant', '') AND d.key = t ->> 'key'));
  FOR v_group IN SELECT * FROM jsonb_array_elements(p_groups) LOOP
    v_items := '{}';
    FOR v_target IN SELECT * FROM jsonb_array_elements(v_group -> 'targets') LOOP
      v_items := v_items || duly.cancel_target_1(v_now, v_target, v_group ->> 'mode', v_group ->> 'actor', v_group ->> 'note');
    END LOOP;
    v_replies := v_replies || json_build_object('ok', true, 'items', array_to_json(v_items));
  END LOOP;
  RETURN json_build_object('now', v_now, 'hints', duly.hints_1(), 'groups', array_to_json(v_replies))::text;
END $$;

CREATE FUNCTION duly.reschedule_target_1(p_now bigint, p_target jsonb, p_due bigint, p_actor text) RETURNS json LANGUAGE plpgsql AS $$
DECLARE
  v_id text := p_target ->> 'id';
  v_job duly.jobs;
  v_status text;
BEGIN
  IF p_target ? 'key' THEN v_id := duly.holder_1(p_now, p_target ->> 'type', p_target ->> 'tenant', p_target ->> 'key'); END IF;
  IF v_id IS NULL THEN RETURN duly.changed_item_1(NULL, 'missing', NULL, NULL); END IF;
  v_job := duly.life_1(v_id);
  IF v_job.id IS NULL THEN RETURN duly.not_live_1(v_id); END IF;
  IF v_job.status = 'RUNNING' THEN RETURN duly.changed_item_1(v_id, 'refused', v_job.status, v_job.due_at); END IF;
  IF v_job.due_at = p_due THEN RETURN duly.changed_item_1(v_id, 'unchanged', v_job.status, v_job.due_at); END IF;
  v_status := duly.move_due_1(p_now, v_job, p_due, 'rescheduled');
  PERFORM duly.audit_job_1(p_now, p_actor, NULL, 'reschedule', v_job, json_build_object('status', v_status, 'dueAt', p_due));
  RETURN duly.changed_item_1(v_id, 'changed', v_status, p_due);
END $$;

-- call: reschedule
CREATE FUNCTION duly.reschedule_1(p_now bigint, p_groups jsonb) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  v_now bigint := duly.begin_1(p_now);
  v_group jsonb;
  v_target jsonb;
  v_items json[];
  v_replies json[] := '{}';
BEGIN
  PERFORM duly.lock_around_1(ARRAY(
    SELECT t ->> 'id' FROM jsonb_array_elements(p_groups) g CROSS JOIN jsonb_array_elements(g -> 'targets') t WHERE t ? 'id'
    UNION SELECT unnest(ARRAY[d.job_id, d.follow_id])
    FROM jsonb_array_elements(p_groups) g CROSS JOIN jsonb_array_elements(g -> 'targets') t
    JOIN duly.dedupes d ON d.type = ANY (ARRAY[t ->> 'type']) AND d.tenant = coalesce(t ->> 'tenant', '') AND d.key = t ->> 'key'));
  FOR v_group IN SELECT * FROM jsonb_array_elements(p_groups) LOOP
    v_items := '{}';
    FOR v_target IN SELECT * FROM jsonb_array_elements(v_group -> 'targets') LOOP
      v_items := v_items || duly.reschedule_target_1(v_now, v_target, duly.due_of_1(v_now, v_group -> 'due'), v_group ->> 'actor');
    END LOOP;
    v_replies := v_replies || json_build_object('ok', true, 'items', array_to_json(v_items));
  END LOOP;
  RETURN json_build_object('now', v_now, 'hints', duly.hints_1(), 'groups', array_to_json(v_replies))::text;
END $$;

-- A history row, taken out of where it is. Of two who want it one gets it. Null: not there.
CREATE FUNCTION duly.take_history_1(p_id text) RETURNS duly.finished LANGUAGE plpgsql AS $$
DECLARE v_over duly.finished;
BEGIN
  DELETE FROM duly.dead WHERE id = p_id RETURNING * INTO v_over;
  IF FOUND THEN RETURN v_over; END IF;
  DELETE FROM duly.finished WHERE id = p_id RETURNING * INTO v_over;
  RETURN v_over;
END $$;

-- Brings an ended job back: the same job, attempts numbered on, its policy's attempts granted again.
CREATE FUNCTION duly.replay_job_1(p_now bigint, p_id text, p_actor text, p_note text) RETURNS json LANGUAGE plpgsql AS $$
DECLARE
  v_job duly.jobs := duly.life_1(p_id);
  v_brief record;
  v_over duly.finished;
  v_last bigint;
  v_attempts text;
  v_status text;
BEGIN
  -- Still waiting or running: also the answer to a repeat of a replay that took effect.
  IF v_job.id IS NOT NULL THEN
    RETURN duly.changed_item_1(p_id, CASE WHEN v_job.reason = 'replayed' THEN 'unchanged' ELSE 'refused' END, v_job.status, v_job.due_at);
  END IF;
  v_brief := duly.find_brief_1(p_id);
  IF v_brief.status IS NULL THEN RETURN duly.changed_item_1(p_id, 'missing', NULL, NULL); END IF;
  IF v_brief.status = 'COMPLETED' THEN RETURN duly.changed_item_1(p_id, 'refused', v_brief.status, v_brief.due_at); END IF;
  v_over := duly.take_history_1(p_id);
  -- Somebody else was faster.
  IF v_over.id IS NULL THEN RETURN duly.changed_item_1(p_id, 'unchanged', 'PENDING', p_now); END IF;
  v_attempts := v_over.attempts;
  SELECT coalesce(max((a ->> 'n')::bigint), 0) INTO v_last FROM json_array_elements(v_attempts::json) a;
  IF v_over.attempt > v_last AND v_over.claimed_at IS NOT NULL THEN
    v_attempts := duly.add_attempt_1(v_attempts, json_build_object('n', v_over.attempt, 'node', coalesce(v_over.node, ''),
      'fence', v_over.fence, 'startedAt', v_over.claimed_at, 'begunAt', v_over.begun_at, 'endedAt', v_over.finished_at,
      'reason', v_over.reason, 'error', v_over.error::json));
  END IF;
  INSERT INTO duly.jobs (
    {{job.revived}}, status, reason, due_at, updated_at, fence, max_attempts,
    slot_at, slot_allow, slot_details, retention_ms, dead_retention_ms, attempts)
  VALUES (
    {{job.revived | v_over.%column | , | id=p_id}}, 'SCHEDULED', 'replayed', p_now, p_now, nextval('duly.fence'),
    greatest(v_over.spent, v_over.max_attempts) + (v_over.policy::json ->> 'maxAttempts')::integer,
    v_over.slot_at, v_over.slot_allow, v_over.slot_details, v_over.retention_ms, v_over.dead_retention_ms, v_attempts)
  RETURNING * INTO v_job;
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
  v_status := duly.enter_1(p_now, v_job, 'replayed');
  PERFORM duly.audit_1(p_now, p_actor, 'replay', 'job:' || p_id, json_build_object('status', v_over.status),
    json_build_object('status', v_status), p_note);
  RETURN duly.changed_item_1(p_id, 'changed', v_status, p_now);
END $$;

-- call: retry
CREATE FUNCTION duly.replay_1(p_now bigint, p_groups jsonb) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  v_now bigint := duly.begin_1(p_now);
  v_group jsonb;
  v_id text;
  v_items json[];
  v_replies json[] := '{}';
BEGIN
  FOR v_group IN SELECT * FROM jsonb_array_elements(p_groups) LOOP
    v_items := '{}';
    FOR v_id IN SELECT * FROM jsonb_array_elements_text(v_group -> 'ids') LOOP
      v_items := v_items || duly.replay_job_1(v_now, v_id, v_group ->> 'actor', v_group ->> 'note');
    END LOOP;
    v_replies := v_replies || json_build_object('ok', true, 'items', array_to_json(v_items));
  END LOOP;
  RETURN json_build_object('now', v_now, 'hints', duly.hints_1(), 'groups', array_to_json(v_replies))::text;
END $$;

-- Removes what is kept beside jobs.
CREATE FUNCTION duly.forget_1(p_ids text[]) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  DELETE FROM duly.logs WHERE job_id = ANY (p_ids);
  DELETE FROM duly.children WHERE parent_id = ANY (p_ids);
  DELETE FROM duly.journal WHERE scope = ANY (ARRAY(SELECT 'job:' || i FROM unnest(p_ids) i));
END $$;

-- Records that a job was deleted, so that a repeat of the call that created it does not create it again. A call whose reply was lost is
-- repeated within seconds; a process that was suspended may repeat it hours later.
CREATE FUNCTION duly.remember_deletion_1(p_now bigint, p_id text, p_status text, p_due bigint) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO duly.journal AS j (scope, key, value, until_at)
  VALUES ('deleted', p_id, json_build_object('status', p_status, 'dueAt', p_due)::text, p_now + 86400000)
  ON CONFLICT (scope, key) DO UPDATE SET value = excluded.value, until_at = excluded.until_at;
END $$;

-- Does one action to one job if its status allows it; with `p_dry` only says whether it does.
CREATE FUNCTION duly.act_1(p_now bigint, p_id text, p_action text, p_actor text, p_note text, p_dry boolean) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
  v_job duly.jobs := duly.life_1(p_id);
  v_live boolean := v_job.id IS NOT NULL;
  v_dead boolean := false;
  v_brief record;
  v_over duly.finished;
BEGIN
  IF p_action IN ('cancel', 'terminate') THEN
    IF NOT v_live THEN RETURN false; END IF;
    IF NOT p_dry THEN PERFORM duly.cancel_job_1(p_now, v_job, CASE p_action WHEN 'cancel' THEN 'ask' ELSE 'terminate' END, p_actor, p_note); END IF;
    RETURN true;
  END IF;
  IF p_action = 'delete' THEN
    -- A running job is somebody's: it is cancelled first, then deleted.
    IF v_live AND v_job.status = 'RUNNING' THEN RETURN false; END IF;
    IF p_dry THEN RETURN true; END IF;
    IF v_live THEN
      PERFORM duly.audit_job_1(p_now, p_actor, p_note, 'delete', v_job, NULL);
      DELETE FROM duly.jobs WHERE id = p_id;
      PERFORM duly.changed_1(p_now, p_id, v_job.type, 'CANCELLED', 'deleted', v_job.percent);
      PERFORM duly.set_free_1(p_now, v_job, 'deleted');
      PERFORM duly.remember_deletion_1(p_now, p_id, 'CANCELLED', v_job.due_at);
    ELSE
      v_over := duly.take_history_1(p_id);
      IF v_over.id IS NULL THEN RETURN false; END IF;
      PERFORM duly.audit_1(p_now, p_actor, 'delete', 'job:' || p_id, json_build_object('status', v_over.status), NULL, p_note);
      PERFORM duly.changed_1(p_now, p_id, v_over.type, v_over.status, 'deleted', v_over.percent);
      PERFORM duly.remember_deletion_1(p_now, p_id, v_over.status, v_over.due_at);
    END IF;
    PERFORM duly.forget_1(ARRAY[p_id]);
    RETURN true;
  END IF;
  IF v_live THEN
    RETURN false;
  END IF;
  IF p_action = 'replay' THEN
    v_brief := duly.find_brief_1(p_id);
    IF v_brief.status IS NULL OR v_brief.status = 'COMPLETED' THEN RETURN false; END IF;
    IF NOT p_dry THEN PERFORM duly.replay_job_1(p_now, p_id, p_actor, p_note); END IF;
    RETURN true;
  END IF;
  -- discard: no dead letter any more, but history as any other ended job.
  IF p_dry THEN RETURN EXISTS (SELECT 1 FROM duly.dead WHERE id = p_id); END IF;
  DELETE FROM duly.dead WHERE id = p_id RETURNING * INTO v_over;
  IF NOT FOUND THEN RETURN false; END IF;
  v_over.prune_at := p_now + v_over.retention_ms;
  v_over.updated_at := p_now;
  INSERT INTO duly.finished SELECT v_over.*;
  PERFORM duly.audit_1(p_now, p_actor, 'discard', 'job:' || p_id, json_build_object('dead', true), json_build_object('dead', false), p_note);
  RETURN true;
END $$;

-- One action to these jobs, in this order; answers those it was done to.
-- call: change
CREATE FUNCTION duly.change_1(p_now bigint, p_ids jsonb, p_action text, p_actor text, p_note text, p_dry boolean) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  v_now bigint := duly.begin_1(p_now);
  v_id text;
  v_done text[] := '{}';
BEGIN
  FOR v_id IN SELECT * FROM jsonb_array_elements_text(p_ids) LOOP
    IF duly.act_1(v_now, v_id, p_action, p_actor, p_note, p_dry) THEN v_done := v_done || v_id; END IF;
  END LOOP;
  RETURN json_build_object('now', v_now, 'hints', duly.hints_1(), 'ids', array_to_json(v_done))::text;
END $$;
