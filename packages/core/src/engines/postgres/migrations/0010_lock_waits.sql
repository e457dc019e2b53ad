-- A verb that meets a row of somebody's open transaction says so after 2 s, with nothing done (55P03), instead of standing behind it until
-- its caller gives up and nobody knows what became of it. A setting of the function and not of the session: a pooler may stand
-- between, and it ends with the call.
ALTER FUNCTION duly.enqueue_1 SET lock_timeout = '2s';
ALTER FUNCTION duly.exchange_1 SET lock_timeout = '2s';
ALTER FUNCTION duly.heartbeat_1 SET lock_timeout = '2s';
ALTER FUNCTION duly.reap_1 SET lock_timeout = '2s';
ALTER FUNCTION duly.cancel_1 SET lock_timeout = '2s';
ALTER FUNCTION duly.reschedule_1 SET lock_timeout = '2s';
ALTER FUNCTION duly.replay_1 SET lock_timeout = '2s';
ALTER FUNCTION duly.report_1 SET lock_timeout = '2s';
ALTER FUNCTION duly.change_1 SET lock_timeout = '2s';
ALTER FUNCTION duly.apply_schedules_1 SET lock_timeout = '2s';
ALTER FUNCTION duly.claim_schedules_1 SET lock_timeout = '2s';
ALTER FUNCTION duly.fire_1 SET lock_timeout = '2s';
ALTER FUNCTION duly.acquire_1 SET lock_timeout = '2s';
ALTER FUNCTION duly.keep_locks_1 SET lock_timeout = '2s';
ALTER FUNCTION duly.put_expiring_1 SET lock_timeout = '2s';
ALTER FUNCTION duly.remember_1 SET lock_timeout = '2s';
ALTER FUNCTION duly.records_1 SET lock_timeout = '2s';
ALTER FUNCTION duly.nodes_1 SET lock_timeout = '2s';
ALTER FUNCTION duly.changes_1 SET lock_timeout = '2s';
ALTER FUNCTION duly.prune_1 SET lock_timeout = '2s';
