-- Planner settings of every function that a session calls again and again. A plan is made once and must be right for a table of any size, so
-- only the choices that are right for every size are left: index lookups in nested loops (see the rules in 0002_moves). Settings of the functions
-- and not of the session: a pooler may stand between. What reads by a filter is planned at each call and has its own settings (0009_reading).
DO $$
DECLARE
  v_function regproc;
  v_setting text;
BEGIN
  FOREACH v_function IN ARRAY ARRAY[
    'duly.enqueue_1', 'duly.enqueue_apart_1', 'duly.enqueue_patient_1', 'duly.enqueue_alike_1', 'duly.exchange_1', 'duly.settle_within_1',
    'duly.claim_alone_1', 'duly.heartbeat_1', 'duly.reap_1', 'duly.report_1', 'duly.cancel_1', 'duly.reschedule_1', 'duly.replay_1',
    'duly.change_1', 'duly.apply_schedules_1', 'duly.claim_schedules_1', 'duly.fire_1', 'duly.acquire_1', 'duly.keep_locks_1',
    'duly.put_expiring_1', 'duly.remember_1', 'duly.nodes_1', 'duly.records_1', 'duly.changes_1', 'duly.prune_1', 'duly.found_1',
    'duly.rehearse_1']::regproc[]
  LOOP
    FOREACH v_setting IN ARRAY ARRAY[
      'plan_cache_mode = force_generic_plan', 'jit = off', 'enable_seqscan = off', 'enable_bitmapscan = off', 'enable_hashjoin = off',
      'enable_mergejoin = off']
    LOOP
      EXECUTE format('ALTER FUNCTION %s SET %s', v_function, v_setting);
    END LOOP;
  END LOOP;
END $$;
