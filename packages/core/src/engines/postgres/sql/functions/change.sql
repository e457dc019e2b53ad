-- One action on many jobs, each with an audit row in the same transaction.

-- Records that a job was deleted, so that a repeat of the call that created it does not create it again. A call whose reply was lost is
-- repeated within seconds; a process that was suspended may repeat it hours later.
CREATE FUNCTION duly.remember_deletion(p_now bigint, p_id text, p_status text, p_due bigint) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO duly.journal AS j (scope, key, value, until_at)
  VALUES ('deleted', p_id, json_build_object('status', p_status, 'dueAt', p_due)::text, p_now + 86400000)
  ON CONFLICT (scope, key) DO UPDATE SET value = excluded.value, until_at = excluded.until_at;
END $$;

-- Does one action to one job if its status allows it; with `p_dry` only says whether it does.
CREATE FUNCTION duly.apply_action(p_now bigint, p_id text, p_action text, p_actor text, p_note text, p_dry boolean) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
  v_job duly.jobs := duly.job_state(p_id);
  v_live boolean := v_job.id IS NOT NULL;
  v_dead boolean := false;
  v_brief record;
  v_over duly.finished;
BEGIN
  IF p_action IN ('cancel', 'terminate') THEN
    IF NOT v_live THEN RETURN false; END IF;
    IF NOT p_dry THEN PERFORM duly.cancel_job(p_now, v_job, CASE p_action WHEN 'cancel' THEN 'ask' ELSE 'terminate' END, p_actor, p_note); END IF;
    RETURN true;
  END IF;
  IF p_action = 'delete' THEN
    -- A running job is somebody's: it is cancelled first, then deleted.
    IF v_live AND v_job.status = 'RUNNING' THEN RETURN false; END IF;
    IF p_dry THEN RETURN true; END IF;
    IF v_live THEN
      PERFORM duly.audit_job(p_now, p_actor, p_note, 'delete', v_job, NULL);
      DELETE FROM duly.jobs WHERE id = p_id;
      PERFORM duly.changed(p_now, p_id, v_job.type, 'CANCELLED', 'deleted', v_job.percent);
      PERFORM duly.set_free(p_now, v_job, 'deleted');
      PERFORM duly.remember_deletion(p_now, p_id, 'CANCELLED', v_job.due_at);
    ELSE
      v_over := duly.take_history(p_id);
      IF v_over.id IS NULL THEN RETURN false; END IF;
      PERFORM duly.audit(p_now, p_actor, 'delete', 'job:' || p_id, json_build_object('status', v_over.status), NULL, p_note);
      PERFORM duly.changed(p_now, p_id, v_over.type, v_over.status, 'deleted', v_over.percent);
      PERFORM duly.remember_deletion(p_now, p_id, v_over.status, v_over.due_at);
    END IF;
    PERFORM duly.forget(ARRAY[p_id]);
    RETURN true;
  END IF;
  IF v_live THEN
    RETURN false;
  END IF;
  IF p_action = 'retry' THEN
    v_brief := duly.find_brief(p_id);
    IF v_brief.status IS NULL OR v_brief.status = 'COMPLETED' THEN RETURN false; END IF;
    IF NOT p_dry THEN PERFORM duly.retry_job(p_now, p_id, p_actor, p_note); END IF;
    RETURN true;
  END IF;
  -- discard: no dead letter any more, but history as any other ended job.
  IF p_dry THEN RETURN EXISTS (SELECT 1 FROM duly.dead WHERE id = p_id); END IF;
  DELETE FROM duly.dead WHERE id = p_id RETURNING * INTO v_over;
  IF NOT FOUND THEN RETURN false; END IF;
  v_over.prune_at := p_now + v_over.retention_ms;
  v_over.updated_at := p_now;
  INSERT INTO duly.finished SELECT v_over.*;
  PERFORM duly.audit(p_now, p_actor, 'discard', 'job:' || p_id, json_build_object('dead', true), json_build_object('dead', false), p_note);
  RETURN true;
END $$;

-- One action to these jobs, in this order; answers those it was done to.
-- call: change
CREATE FUNCTION duly.change(p_now bigint, p_ids jsonb, p_action text, p_actor text, p_note text, p_dry boolean) RETURNS text LANGUAGE plpgsql
SET lock_timeout = '2s'
SET plan_cache_mode = force_generic_plan SET jit = off SET enable_seqscan = off SET enable_bitmapscan = off
SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
  v_now bigint := duly.begin(p_now);
  v_id text;
  v_done text[] := '{}';
BEGIN
  FOR v_id IN SELECT * FROM jsonb_array_elements_text(p_ids) LOOP
    IF duly.apply_action(v_now, v_id, p_action, p_actor, p_note, p_dry) THEN v_done := v_done || v_id; END IF;
  END LOOP;
  RETURN json_build_object('now', v_now, 'notifications', duly.notifications(), 'ids', array_to_json(v_done))::text;
END $$;
