-- History by the day on which it may be forgotten: days are made ahead and dropped whole, so that forgetting a million jobs costs no more
-- than forgetting one. A job is kept until the day is over in which its retention ends.

CREATE FUNCTION duly.day_name(p_day bigint) RETURNS text LANGUAGE sql IMMUTABLE AS $$
  SELECT 'finished_' || to_char(to_timestamp(p_day * 86400) AT TIME ZONE 'UTC', 'YYYYMMDD')
$$;

-- Makes the days that are to come, as many as asked, or drops one that is over; answers how many jobs went, about, and `more` if there is more to do. Both need a lock
-- on history for a moment: whoever cannot have it soon leaves it to the next call, and history waits in `finished_other` or a little longer. A lock is
-- kept until the commit, so what takes long comes before it, and one call does one thing: who counts and clears up a day while it holds the lock by which
-- another was made stops everybody who reads or settles, and waits in vain for those that wait for it.
-- Who may neither make nor drop tables here makes no days, and forgets so many jobs of days that are over one by one: `more` if that was not all.
CREATE FUNCTION duly.keep_days(p_now bigint, p_ahead integer, p_limit integer DEFAULT 500) RETURNS text LANGUAGE plpgsql SET lock_timeout = '200ms' AS $$
DECLARE
  v_now bigint := duly.begin(p_now);
  v_today bigint := v_now / 86400000;
  v_day bigint;
  v_name text;
  v_created bigint;
  v_jobs bigint := 0;
  v_n bigint;
  v_ids text[];
  v_is_owner boolean;
  v_may_create boolean;
  v_has_made boolean := false;
  v_more boolean;
  v_what text;
  -- Some tenths of a second.
  v_slice integer := 100 * greatest(p_limit, 1);
BEGIN
  -- One at a time.
  IF NOT pg_try_advisory_xact_lock(hashtext('duly.days')) THEN RETURN json_build_object('now', v_now, 'jobs', 0, 'more', false)::text; END IF;
  SELECT pg_has_role(c.relowner, 'USAGE'), has_schema_privilege(c.relnamespace, 'CREATE') INTO v_is_owner, v_may_create
  FROM pg_class c WHERE c.oid = 'duly.finished'::regclass;
  FOR v_day IN SELECT generate_series(v_today, v_today + p_ahead) LOOP
    v_name := duly.day_name(v_day);
    CONTINUE WHEN NOT (v_is_owner AND v_may_create) OR to_regclass(format('duly.%I', v_name)) IS NOT NULL;
    BEGIN
      -- While autovacuum analyzes a day it holds a snapshot, and no dead row of a live job can be removed: it must not pause in between.
      EXECUTE format('CREATE TABLE duly.%I (LIKE duly.finished INCLUDING DEFAULTS) WITH (autovacuum_vacuum_cost_delay = 0)', v_name);
      -- What lies in `finished_other` of that day moves over first, or it would stand in the way.
      EXECUTE format('WITH moved AS (DELETE FROM duly.finished_other WHERE prune_at >= %s AND prune_at < %s RETURNING *)
        INSERT INTO duly.%I SELECT * FROM moved', v_day * 86400000, (v_day + 1) * 86400000, v_name);
      GET DIAGNOSTICS v_n = ROW_COUNT;
      EXECUTE format('ALTER TABLE duly.finished ATTACH PARTITION duly.%I FOR VALUES FROM (%s) TO (%s)', v_name,
        v_day * 86400000, (v_day + 1) * 86400000);
    EXCEPTION WHEN lock_not_available OR deadlock_detected OR check_violation THEN
      EXIT;
    END;
    v_has_made := true;
    EXIT WHEN v_n > 0;
  END LOOP;
  IF v_has_made THEN RETURN json_build_object('now', v_now, 'jobs', 0, 'more', true)::text; END IF;
  IF NOT v_is_owner THEN
    EXECUTE format('WITH gone AS (
        DELETE FROM duly.finished WHERE prune_at < %1$s AND id IN (SELECT id FROM duly.finished WHERE prune_at < %1$s LIMIT %2$s)
        RETURNING id, created_at)
      SELECT array_agg(id), max(created_at), count(*) FROM gone', v_today * 86400000, p_limit) INTO v_ids, v_created, v_jobs;
    IF v_jobs > 0 THEN
      PERFORM duly.note_pruned(v_created);
      PERFORM duly.forget(v_ids);
    END IF;
    RETURN json_build_object('now', v_now, 'jobs', v_jobs, 'more', v_jobs >= p_limit)::text;
  END IF;
  SELECT min(c.relname), count(*) > 1 INTO v_name, v_more FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
  WHERE i.inhparent = 'duly.finished'::regclass AND c.relname ~ '^finished_[0-9]{8}$' AND c.relname < duly.day_name(v_today);
  IF v_name IS NULL THEN RETURN json_build_object('now', v_now, 'jobs', 0, 'more', false)::text; END IF;
  BEGIN
    -- Ids are time-ordered, so the last one tells when the newest of these jobs was made.
    EXECUTE format('SELECT created_at FROM duly.%I ORDER BY id DESC LIMIT 1', v_name) INTO v_created;
    IF v_created IS NOT NULL THEN PERFORM duly.note_pruned(v_created); END IF;
    -- A day of millions would take longer than a call may: then what hangs on its jobs goes by and by, and the day with the last of it.
    FOREACH v_what IN ARRAY ARRAY['logs o JOIN duly.%I f ON f.id = o.job_id', 'children o JOIN duly.%I f ON f.id = o.parent_id',
      'journal o JOIN duly.%I f ON ''job:'' || f.id = o.scope'] LOOP
      EXECUTE format('DELETE FROM duly.%s WHERE ctid = ANY (ARRAY(SELECT o.ctid FROM duly.' || v_what || ' LIMIT %s))',
        split_part(v_what, ' ', 1), v_name, v_slice);
      GET DIAGNOSTICS v_n = ROW_COUNT;
      IF v_n >= v_slice THEN RETURN json_build_object('now', v_now, 'jobs', 0, 'more', true)::text; END IF;
    END LOOP;
    EXECUTE format('SELECT count(*) FROM duly.%I', v_name) INTO v_jobs;
    EXECUTE format('DROP TABLE duly.%I', v_name);
  EXCEPTION WHEN lock_not_available OR deadlock_detected THEN
    v_jobs := 0;
    v_more := false;
  END;
  RETURN json_build_object('now', v_now, 'jobs', v_jobs, 'more', v_more)::text;
END $$;
