-- Reads the journal, and writes it if nothing stands there and the guard holds. The guard is shared-locked until the commit: whoever
-- would take the lock or the lease away waits, and then finds the value.
-- call: remember
CREATE FUNCTION duly.remember(p_now bigint, p_scope text, p_key text, p_put jsonb) RETURNS text LANGUAGE plpgsql
SET lock_timeout = '2s'
SET plan_cache_mode = force_generic_plan SET jit = off SET enable_seqscan = off SET enable_bitmapscan = off
SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
  v_now bigint := duly.begin(p_now);
  v_value text;
BEGIN
  SELECT value INTO v_value FROM duly.journal WHERE scope = p_scope AND key = p_key AND (until_at IS NULL OR until_at > v_now);
  IF FOUND THEN RETURN json_build_object('now', v_now, 'value', v_value, 'result', 'present')::text; END IF;
  IF p_put IS NULL THEN RETURN json_build_object('now', v_now, 'value', NULL, 'result', 'absent')::text; END IF;
  IF p_put -> 'guard' ? 'job' THEN
    PERFORM 1 FROM duly.leases WHERE id = p_put -> 'guard' ->> 'job' AND fence = (p_put -> 'guard' ->> 'fence')::bigint FOR SHARE;
  ELSE
    PERFORM 1 FROM duly.locks WHERE name = p_put -> 'guard' ->> 'lock' AND fence = (p_put -> 'guard' ->> 'fence')::bigint FOR SHARE;
  END IF;
  IF NOT FOUND THEN RETURN json_build_object('now', v_now, 'value', NULL, 'result', 'lost')::text; END IF;
  INSERT INTO duly.journal AS j (scope, key, value, until_at)
  VALUES (p_scope, p_key, p_put ->> 'value', v_now + (p_put ->> 'forMs')::bigint)
  ON CONFLICT (scope, key) DO UPDATE SET value = excluded.value, until_at = excluded.until_at WHERE j.until_at <= v_now
  RETURNING value INTO v_value;
  IF FOUND THEN RETURN json_build_object('now', v_now, 'value', v_value, 'result', 'written')::text; END IF;
  SELECT value INTO v_value FROM duly.journal WHERE scope = p_scope AND key = p_key;
  RETURN json_build_object('now', v_now, 'value', v_value, 'result', 'present')::text;
END $$;
