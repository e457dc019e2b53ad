-- Plays what a node does most, so that the session that plays it has planned it: the first call of a function plans its statements, 4 to 20 ms for
-- each of these. Whoever calls this rolls back. It plays at instant 0, at which nothing of anybody's is due, overdue or ended, and what it makes
-- nobody sees: so it waits for nobody, and nobody for it. Only the settlement is of today, because history is kept by days.
CREATE FUNCTION duly.warm_up() RETURNS void LANGUAGE plpgsql
SET plan_cache_mode = force_generic_plan SET jit = off SET enable_seqscan = off SET enable_bitmapscan = off
SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
  v_name text := 'warm-up-' || pg_backend_pid();
  v_specs jsonb := jsonb_build_array(jsonb_build_object('n', 1, 'type', v_name, 'version', 1, 'queue', v_name, 'priority', 0, 'rankOffsetMs', 0, 'at', 0, 'maxAttempts', 1,
    'origin', 'event', 'policy', '{}', 'retentionMs', 0, 'deadRetentionMs', 0, 'slotAllow', false, 'waits', false, 'decision', 'fired', 'node', v_name));
  v_claim jsonb := jsonb_build_object('token', v_name, 'node', v_name, 'tasks', jsonb_build_array(jsonb_build_object('type', v_name, 'version', 1, 'limit', 9)),
    'queues', NULL, 'limit', 9, 'leaseMs', 0, 'idle', true);
  v_jobs text[];
  v_fences bigint[];
  v_fence bigint;
BEGIN
  -- A page of schedules is decided: its job is taken as it is made, and then, of a second one, left to whoever comes.
  FOR i IN 1..2 LOOP
    INSERT INTO duly.schedules (id, generation, version, state, due_at, updated_at) VALUES (v_name || i, 1, 1, '{}', 0, 0);
    INSERT INTO duly.specs (id, name, spec, created_at) VALUES (v_name || i, v_name || i, '{}', 0);
    PERFORM duly.claim_schedules(0, v_name, v_name || i, 9, 1000, NULL);
    SELECT fence INTO v_fence FROM duly.schedule_leases WHERE token = v_name || i;
    PERFORM duly.fire(0, v_name, v_fence, ARRAY[v_name || i], '{1}', '{"{}"}', '{NULL}', v_specs, NULL,
      ARRAY[v_name || '-fired' || i], '{"null"}', NULL, NULL, NULL, NULL, '{0}', '{"{}"}', '{"{}"}', '[]', ARRAY[v_fence],
      CASE WHEN i = 1 THEN v_claim END, ARRAY[v_name || '-fired' || i]);
  END LOOP;
  -- A worker claims one ready job, a job that is due, and a job that it has just created.
  PERFORM duly.exchange(0, NULL, NULL, NULL, NULL, NULL, v_claim, false);
  PERFORM duly.enqueue(0, v_specs, ARRAY[v_name || '-made'], '{"null"}', NULL, NULL, NULL, false);
  PERFORM duly.exchange(0, NULL, NULL, NULL, NULL, NULL, v_claim, false);
  PERFORM duly.enqueue(-1, v_specs, ARRAY[v_name || '-later'], '{"null"}', NULL, NULL, NULL, false);
  PERFORM duly.exchange(0, NULL, NULL, NULL, NULL, NULL, v_claim, false);
  PERFORM duly.enqueue(0, v_specs, ARRAY[v_name || '-now'], '{"null"}', NULL, NULL, v_claim, false);
  SELECT array_agg(id), array_agg(fence) INTO v_jobs, v_fences FROM duly.leases WHERE node = v_name;
  PERFORM duly.exchange(NULL, v_jobs, v_fences, NULL, NULL, NULL, NULL, false);
END $$;
