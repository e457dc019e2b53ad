-- call: acquire
CREATE FUNCTION duly.acquire(p_now bigint, p_name text, p_token text, p_holder text, p_ttl_ms bigint) RETURNS text LANGUAGE plpgsql
SET lock_timeout = '2s'
SET plan_cache_mode = force_generic_plan SET jit = off SET enable_seqscan = off SET enable_bitmapscan = off
SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
  v_now bigint := duly.begin(p_now);
  v_created bigint;
  v_lock duly.locks;
BEGIN
  LOOP
    SELECT * INTO v_lock FROM duly.locks WHERE name = p_name FOR UPDATE;
    -- It may have been waited for, until its holder gave it back.
    v_now := duly.after_lock(duly.now(p_now));
    IF v_lock.name IS NOT NULL THEN
      IF v_lock.until_at > v_now THEN
        IF v_lock.token = p_token THEN PERFORM duly.confirm(); END IF;
        RETURN json_build_object('now', v_now, 'acquired', v_lock.token = p_token, 'fence', v_lock.fence, 'untilAt', v_lock.until_at,
          'holder', v_lock.holder)::text;
      END IF;
      UPDATE duly.locks SET fence = nextval('duly.fence'), until_at = v_now + p_ttl_ms, token = p_token, holder = p_holder
      WHERE name = p_name RETURNING * INTO v_lock;
      EXIT;
    END IF;
    INSERT INTO duly.locks (name, fence, until_at, token, holder) VALUES (p_name, nextval('duly.fence'), v_now + p_ttl_ms, p_token, p_holder)
    ON CONFLICT (name) DO NOTHING RETURNING * INTO v_lock;
    CONTINUE WHEN NOT FOUND;
    -- Somebody who was making it may have been waited for, until it was made and given back.
    v_created := duly.after_lock(duly.now(p_now));
    IF v_created > v_now THEN
      v_now := v_created;
      UPDATE duly.locks SET until_at = v_now + p_ttl_ms WHERE name = p_name RETURNING * INTO v_lock;
    END IF;
    EXIT;
  END LOOP;
  RETURN json_build_object('now', v_now, 'acquired', true, 'fence', v_lock.fence, 'untilAt', v_lock.until_at)::text;
END $$;

-- A lock holds until someone else takes it, so a late renewal that nobody forestalled still counts. `p_ttl_ms` null: gives them back.
-- call: keepLocks
CREATE FUNCTION duly.keep_locks(p_now bigint, p_locks jsonb, p_ttl_ms bigint) RETURNS text LANGUAGE plpgsql
SET lock_timeout = '2s'
SET plan_cache_mode = force_generic_plan SET jit = off SET enable_seqscan = off SET enable_bitmapscan = off
SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
  v_now bigint := duly.begin(p_now);
  v_kept boolean[] := '{}';
  v_one jsonb;
BEGIN
  FOR v_one IN SELECT * FROM jsonb_array_elements(p_locks) LOOP
    IF p_ttl_ms IS NULL THEN
      DELETE FROM duly.locks WHERE name = v_one ->> 'name' AND fence = (v_one ->> 'fence')::bigint;
    ELSE
      UPDATE duly.locks SET until_at = v_now + p_ttl_ms WHERE name = v_one ->> 'name' AND fence = (v_one ->> 'fence')::bigint;
    END IF;
    v_kept := v_kept || FOUND;
  END LOOP;
  IF p_ttl_ms IS NULL THEN PERFORM duly.add_notification('l'); END IF;
  RETURN json_build_object('now', v_now, 'notifications', duly.notifications(), 'kept', to_json(v_kept))::text;
END $$;
