-- New log lines are in the feed too, so that whoever follows a job need not ask for them again and again. Their text is not.
-- call: report
CREATE FUNCTION duly.report(p_now bigint, p_reports jsonb, p_log_limit bigint) RETURNS text LANGUAGE plpgsql
SET lock_timeout = '2s'
SET plan_cache_mode = force_generic_plan SET jit = off SET enable_seqscan = off SET enable_bitmapscan = off
SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
  v_now bigint := duly.begin(p_now);
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
      PERFORM duly.changed(v_now, v_one ->> 'id', v_type, 'RUNNING', 'progress', v_percent);
    END IF;
    PERFORM duly.append_logs(v_one ->> 'id', v_attempt, v_one -> 'logs', p_log_limit);
    IF jsonb_array_length(v_one -> 'logs') > 0 THEN
      PERFORM duly.changed(v_now, v_one ->> 'id', v_type, 'RUNNING', 'log', NULL);
    END IF;
  END LOOP;
  RETURN json_build_object('now', v_now, 'notifications', duly.notifications(), 'kept', to_json(v_kept))::text;
END $$;
