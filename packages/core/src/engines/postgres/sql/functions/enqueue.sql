-- Creating jobs with everything that may stand in their way: repeats, parents and dedupe keys. insert_jobs inserts them.

-- A job that is there, or was deleted in the last 24 hours; a deletion does not tell the type.
CREATE FUNCTION duly.find_known(p_id text, OUT type text, OUT status text, OUT due_at bigint) LANGUAGE plpgsql AS $$
DECLARE
  v_brief record := duly.find_brief(p_id);
  v_deleted json;
BEGIN
  type := v_brief.type;
  status := v_brief.status;
  due_at := v_brief.due_at;
  IF status IS NOT NULL THEN RETURN; END IF;
  -- After the job itself: a deletion that commits in between is seen by one of the two.
  SELECT j.value INTO v_deleted FROM duly.journal j WHERE j.scope = 'deleted' AND j.key = p_id;
  status := v_deleted ->> 'status';
  due_at := (v_deleted ->> 'dueAt')::bigint;
END $$;

CREATE FUNCTION duly.item(p_id text, p_status text, p_due bigint, p_deduped boolean) RETURNS json LANGUAGE sql AS $$
  SELECT json_build_object('id', p_id, 'status', p_status, 'dueAt', p_due, 'deduped', p_deduped)
$$;

-- Gives an unstarted job what a later call under the same key wants, and remembers by whom that call was taken over. Its serial place,
-- gates and parent stay.
CREATE FUNCTION duly.replace_job(p_now bigint, p_job duly.jobs, p_spec jsonb) RETURNS json LANGUAGE plpgsql AS $$
DECLARE
  v_due bigint := duly.due_of(p_now, p_spec);
  v_job duly.jobs := p_job;
BEGIN
  IF p_spec -> 'dedupe' ->> 'mode' = 'extend' AND p_spec -> 'dedupe' ->> 'maxWaitMs' IS NOT NULL THEN
    v_due := least(v_due, p_job.created_at + (p_spec -> 'dedupe' ->> 'maxWaitMs')::bigint);
  END IF;
  UPDATE duly.jobs SET
    version = (p_spec ->> 'version')::integer, queue = p_spec ->> 'queue', priority = (p_spec ->> 'priority')::integer,
    rank_offset = (p_spec ->> 'rankOffsetMs')::bigint, max_attempts = (p_spec ->> 'maxAttempts')::integer,
    policy = p_spec ->> 'policy', retention_ms = (p_spec ->> 'retentionMs')::bigint,
    dead_retention_ms = (p_spec ->> 'deadRetentionMs')::bigint, metadata = p_spec ->> 'metadata', input = p_spec ->> 'input'{{job.passive -copyOf | , %column = (p_spec ->> '%field')::%sql |}},
    -- Moves with the due time, just below.
    expire_at = p_job.due_at + (p_spec ->> 'startDeadlineMs')::bigint, updated_at = p_now
  WHERE id = p_job.id;
  v_job.rank_offset := (p_spec ->> 'rankOffsetMs')::bigint;
  -- A call whose answer was lost is sent again within seconds; a process that stands still meanwhile has ten minutes.
  INSERT INTO duly.journal AS j (scope, key, value, until_at) VALUES ('fold', p_spec ->> 'id', p_job.id, p_now + 600000)
  ON CONFLICT (scope, key) DO UPDATE SET value = excluded.value, until_at = excluded.until_at;
  RETURN duly.item(p_job.id, duly.move_due(p_now, v_job, v_due, 'replaced'), v_due, true);
END $$;

-- A job with a dedupe key: takes the key, or finds its holder. Only who takes or changes something locks the key's row, so that a
-- call that is dropped neither waits for anyone nor makes anyone wait.
CREATE FUNCTION duly.create_deduped(p_now bigint, p_spec jsonb, p_repeat boolean) RETURNS json LANGUAGE plpgsql AS $$
DECLARE
  v_id text := p_spec ->> 'id';
  v_type text := p_spec ->> 'type';
  v_tenant text := coalesce(p_spec ->> 'tenant', '');
  v_key text := p_spec -> 'dedupe' ->> 'key';
  v_mode text := p_spec -> 'dedupe' ->> 'mode';
  v_until bigint := p_now + (p_spec -> 'dedupe' ->> 'forMs')::bigint;
  v_held duly.dedupes;
  v_brief record;
  v_live duly.jobs;
  v_item json;
  v_taken boolean := false;
  v_took_over text;
BEGIN
  LOOP
    INSERT INTO duly.dedupes (type, tenant, key, job_id, until_at, created_at)
    VALUES (v_type, v_tenant, v_key, v_id, v_until, p_now) ON CONFLICT DO NOTHING;
    v_taken := FOUND;
    EXIT WHEN v_taken;
    SELECT * INTO v_held FROM duly.dedupes WHERE type = v_type AND tenant = v_tenant AND key = v_key;
    CONTINUE WHEN NOT FOUND;
    IF v_mode <> 'drop' OR v_held.job_id = '' OR v_held.until_at <= p_now THEN
      SELECT * INTO v_held FROM duly.dedupes WHERE type = v_type AND tenant = v_tenant AND key = v_key FOR UPDATE;
      CONTINUE WHEN NOT FOUND;
    END IF;
    EXIT;
  END LOOP;
  IF p_repeat AND v_mode <> 'drop' THEN
    -- The job that took this call over may have started meanwhile, or be over. Read once the key is held: until then an earlier send may
    -- still be on its way.
    SELECT value INTO v_took_over FROM duly.journal WHERE scope = 'fold' AND key = v_id;
    IF FOUND THEN
      IF v_taken THEN DELETE FROM duly.dedupes WHERE type = v_type AND tenant = v_tenant AND key = v_key; END IF;
      PERFORM duly.confirm();
      v_brief := duly.find_known(v_took_over);
      RETURN duly.item(v_took_over, coalesce(v_brief.status, 'COMPLETED'), coalesce(v_brief.due_at, p_now), true);
    END IF;
  END IF;
  IF v_taken THEN RETURN duly.insert_jobs(p_now, p_spec); END IF;
  -- Once its holder's time is over, the follow-up behind that one holds the key.
  IF v_held.until_at <= p_now AND v_held.follow_id IS NOT NULL THEN
    v_held.job_id := v_held.follow_id;
    v_held.until_at := v_held.follow_until;
    v_held.ended := NULL;
    v_held.follow_id := NULL;
  END IF;
  IF v_held.job_id <> '' AND (v_held.until_at IS NULL OR v_held.until_at > p_now) THEN
    v_brief := duly.find_brief(v_held.job_id);
    IF v_held.job_id = v_id AND v_brief.status IS NOT NULL THEN
      RETURN duly.item(v_id, v_brief.status, v_brief.due_at, false);
    END IF;
    IF v_mode = 'drop' THEN
      -- The key may outlive the history of its holder.
      RETURN duly.item(v_held.job_id, coalesce(v_brief.status, v_held.ended, 'COMPLETED'), coalesce(v_brief.due_at, p_now), true);
    END IF;
    v_live := duly.job_state(v_held.job_id);
    -- Otherwise nothing is left to replace, and nothing to wait for: the new job takes the key over.
    IF v_live.id IS NOT NULL THEN
      IF v_live.attempt = 0 THEN RETURN duly.replace_job(p_now, v_live, p_spec); END IF;
      IF v_held.follow_id = v_id THEN
        v_brief := duly.find_brief(v_id);
        RETURN duly.item(v_id, v_brief.status, v_brief.due_at, false);
      END IF;
      IF v_held.follow_id IS NOT NULL THEN
        RETURN duly.replace_job(p_now, duly.job_state(v_held.follow_id), p_spec);
      END IF;
      v_item := duly.insert_jobs(p_now, jsonb_set(p_spec, '{gates}', (p_spec -> 'gates') || jsonb_build_object('kind', 'dedupe', 'ref', v_live.id)));
      UPDATE duly.dedupes SET follow_id = v_id, follow_until = v_until WHERE type = v_type AND tenant = v_tenant AND key = v_key;
      RETURN v_item;
    END IF;
  END IF;
  v_item := duly.insert_jobs(p_now, p_spec);
  UPDATE duly.dedupes
  SET job_id = v_id, until_at = v_until, created_at = p_now, ended = NULL, follow_id = NULL, follow_until = NULL
  WHERE type = v_type AND tenant = v_tenant AND key = v_key;
  RETURN v_item;
END $$;

-- Creates one job, or finds the job of the same parent and key, or of the same dedupe key.
CREATE FUNCTION duly.create_new(p_now bigint, p_spec jsonb, p_repeat boolean) RETURNS json LANGUAGE plpgsql AS $$
DECLARE
  v_id text := p_spec ->> 'id';
  v_parent text := p_spec ->> 'parentId';
  v_key text := p_spec ->> 'parentKey';
  v_child text;
  v_brief record;
  v_item json;
BEGIN
  IF v_key IS NOT NULL THEN
    INSERT INTO duly.children (parent_id, key, job_id) VALUES (v_parent, v_key, v_id) ON CONFLICT DO NOTHING;
    IF NOT FOUND THEN
      SELECT job_id INTO v_child FROM duly.children WHERE parent_id = v_parent AND key = v_key;
      v_brief := duly.find_known(v_child);
      -- The child may be past its retention, but the promise was kept.
      IF v_brief.status IS NULL THEN RETURN duly.item(v_child, 'COMPLETED', p_now, true); END IF;
      RETURN duly.item(v_child, v_brief.status, v_brief.due_at, v_child <> v_id);
    END IF;
  END IF;
  IF jsonb_typeof(p_spec -> 'dedupe') = 'object' THEN v_item := duly.create_deduped(p_now, p_spec, p_repeat);
  ELSE v_item := duly.insert_jobs(p_now, p_spec);
  END IF;
  -- Another job keeps the promise, so no child was made.
  IF v_key IS NOT NULL AND v_item ->> 'id' <> v_id THEN
    DELETE FROM duly.children WHERE parent_id = v_parent AND key = v_key AND job_id = v_id;
  END IF;
  RETURN v_item;
END $$;

-- Creates one job. With `p_repeat` the job may exist already under its id, in any state. Raises DU010 if it was created and ended
-- meanwhile: the caller undoes what it did and asks again.
CREATE FUNCTION duly.create_job(p_now bigint, p_spec jsonb, p_repeat boolean) RETURNS json LANGUAGE plpgsql AS $$
DECLARE
  v_id text := p_spec ->> 'id';
  v_brief record;
  v_item json;
BEGIN
  IF NOT p_repeat THEN
    v_item := duly.create_new(p_now, p_spec, false);
    PERFORM duly.refuse_late(ARRAY[v_id]);
    RETURN v_item;
  END IF;
  v_brief := duly.find_known(v_id);
  IF v_brief.status IS NOT NULL THEN
    PERFORM duly.refuse_type(p_spec, v_brief.type);
    PERFORM duly.confirm();
    RETURN duly.item(v_id, v_brief.status, v_brief.due_at, false);
  END IF;
  v_item := duly.create_new(p_now, p_spec, true);
  -- A job that ended has left `jobs`, so the insert met no conflict. Our own row keeps all others from inserting the id, so this
  -- second check is final.
  IF EXISTS (SELECT 1 FROM duly.dead WHERE id = v_id) OR EXISTS (SELECT 1 FROM duly.finished WHERE id = v_id)
    OR EXISTS (SELECT 1 FROM duly.journal WHERE scope = 'deleted' AND key = v_id) THEN
    RAISE EXCEPTION USING ERRCODE = 'DU010', MESSAGE = format('Job "%s" was created and ended meanwhile.', v_id);
  END IF;
  RETURN v_item;
END $$;

-- Serializes calls that create the same ids, in one order, so that two batches cannot deadlock. A transaction that reads an older
-- snapshot (REPEATABLE READ) cannot see a job that was created and ended since; it fails on the row of that job's id instead.
CREATE FUNCTION duly.take_ids(p_now bigint, p_groups jsonb) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO duly.journal (scope, key, value, until_at)
  SELECT 'id', i.id, '', p_now + 600000
  FROM (SELECT DISTINCT s ->> 'id' AS id FROM jsonb_array_elements(p_groups) g CROSS JOIN jsonb_array_elements(g) s) i
  WHERE NOT EXISTS (SELECT 1 FROM duly.jobs j WHERE j.id = ANY (ARRAY[i.id]))
  ORDER BY i.id
  ON CONFLICT DO NOTHING;
END $$;

-- Takes the rows of all keys of a call in one order, so that two calls with the same keys cannot wait for each other. A row that was
-- not there is held by nobody ('') until its turn comes, and does not outlive the call.
CREATE FUNCTION duly.take_keys(p_now bigint, p_specs jsonb) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO duly.dedupes (type, tenant, key, job_id, created_at)
  SELECT DISTINCT s ->> 'type', coalesce(s ->> 'tenant', ''), s -> 'dedupe' ->> 'key', '', p_now
  FROM jsonb_array_elements(p_specs) s ORDER BY 1, 2, 3
  ON CONFLICT DO NOTHING;
  PERFORM 1 FROM (
    SELECT DISTINCT s ->> 'type' AS type, coalesce(s ->> 'tenant', '') AS tenant, s -> 'dedupe' ->> 'key' AS key
    FROM jsonb_array_elements(p_specs) s WHERE s -> 'dedupe' ->> 'mode' <> 'drop') s
  JOIN duly.dedupes d ON d.type = ANY (ARRAY[s.type]) AND d.tenant = s.tenant AND d.key = s.key
  ORDER BY s.type, s.tenant, s.key FOR UPDATE OF d;
END $$;

CREATE FUNCTION duly.drop_keys(p_specs jsonb) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  DELETE FROM duly.dedupes d USING jsonb_array_elements(p_specs) s
  WHERE d.job_id = '' AND d.type = ANY (ARRAY[s ->> 'type']) AND d.tenant = coalesce(s ->> 'tenant', '') AND d.key = s -> 'dedupe' ->> 'key';
END $$;

CREATE FUNCTION duly.numbers_of(p_list jsonb) RETURNS bigint[] LANGUAGE sql IMMUTABLE AS $$
  SELECT CASE WHEN jsonb_typeof(p_list) = 'array' THEN ARRAY(SELECT n::bigint FROM jsonb_array_elements_text(p_list) n) END
$$;

CREATE FUNCTION duly.texts_of(p_list jsonb) RETURNS text[] LANGUAGE sql IMMUTABLE AS $$
  SELECT CASE WHEN jsonb_typeof(p_list) = 'array' THEN ARRAY(SELECT t FROM jsonb_array_elements_text(p_list) t) END
$$;

-- Creates jobs, and claims with them. Plain jobs come by columns, those of all groups together (see insert_jobs): what each became follows
-- from its due instant, so the reply does not say it. `p_lists`: the lists of fields in which jobs of one kind differ beside id and input;
-- null for none. Others come in groups.
-- call: enqueue
CREATE FUNCTION duly.enqueue(
  p_now bigint, p_specs jsonb, p_ids text[], p_inputs text[], p_lists jsonb, p_groups jsonb, p_claim jsonb, p_repeat boolean
) RETURNS text LANGUAGE plpgsql
SET lock_timeout = '2s'
SET plan_cache_mode = force_generic_plan SET jit = off SET enable_seqscan = off SET enable_bitmapscan = off
SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
  v_now bigint := coalesce(p_now, floor(extract(epoch FROM statement_timestamp()) * 1000)::bigint);
  v_running json;
  v_claim record;
BEGIN
  -- Jobs by columns are created with as few statements, expressions and parameters as possible: each of them is prepared anew in every
  -- transaction, and for one job that is most of what the call costs.
  IF p_ids IS NULL THEN RETURN duly.enqueue_groups(duly.begin(p_now), p_groups, p_claim, p_repeat); END IF;
  IF p_lists IS NULL THEN v_running := duly.insert_jobs(v_now, p_specs, p_claim, NULL, p_ids, p_inputs);
  ELSE v_running := duly.insert_jobs(v_now, p_specs, p_claim, duly.numbers_of(p_lists -> 'kind')::integer[], p_ids, p_inputs,
    duly.numbers_of(p_lists -> 'dues'), duly.numbers_of(p_lists -> 'rankOffsets'), duly.texts_of(p_lists -> 'tenants'),
    duly.texts_of(p_lists -> 'metadata'));
  END IF;
  IF p_claim IS NULL THEN RETURN json_build_object('now', v_now, 'claimed', '[]'::json, 'notifications', 'n')::text; END IF;
  IF v_running IS NOT NULL THEN RETURN json_build_object('now', v_now, 'claimed', v_running)::text; END IF;
  PERFORM set_config('duly_work.notifications', '', true);
  v_claim := duly.claim(v_now, p_claim, false);
  -- If the caller claims all that it created, no other node is notified of it.
  RETURN json_build_object('now', v_now, 'claimed', v_claim.claimed, 'scan', v_claim.scan, 'notifications',
    CASE WHEN duly.claimed_all(v_claim.claimed, p_ids) THEN duly.notifications() ELSE 'n' || duly.notifications() END)::text;
END $$;

-- With a dedupe key a call may have to wait for an open transaction: it fails soon and is sent again later, so that no connection is held.
-- call: enqueueKeyed
CREATE FUNCTION duly.enqueue_keyed(p_now bigint, p_groups jsonb, p_claim jsonb, p_repeat boolean) RETURNS text LANGUAGE plpgsql
SET lock_timeout = '100ms'
SET plan_cache_mode = force_generic_plan SET jit = off SET enable_seqscan = off SET enable_bitmapscan = off
SET enable_hashjoin = off SET enable_mergejoin = off AS $$
BEGIN
  RETURN duly.enqueue_groups(duly.begin(p_now), p_groups, p_claim, p_repeat);
END $$;

-- Creates groups of jobs one by one. How long it waits for locks is set by the functions that call it.
CREATE FUNCTION duly.enqueue_groups(p_now bigint, p_groups jsonb, p_claim jsonb, p_repeat boolean) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  v_replies json[] := '{}';
  v_items json[];
  v_group jsonb;
  v_spec jsonb;
  v_keyed jsonb;
  v_claimed json := '[]';
  v_state text;
  v_message text;
  v_hint text;
  v_detail text;
BEGIN
  SELECT jsonb_agg(s) INTO v_keyed FROM jsonb_array_elements(p_groups) g CROSS JOIN jsonb_array_elements(g) s
  WHERE jsonb_typeof(s -> 'dedupe') = 'object';
  IF jsonb_array_length(v_keyed) > 0 THEN PERFORM duly.take_keys(p_now, v_keyed); END IF;
  -- Then the serial keys: of the jobs, and of those that hold a key or follow and may be moved.
  PERFORM duly.lock_serials(ARRAY(
    SELECT duly.serial_ref(s ->> 'tenant', s ->> 'serial') FROM jsonb_array_elements(p_groups) g CROSS JOIN jsonb_array_elements(g) s
    -- One that is made in the user's own transaction takes no place, and must not keep others from theirs until the commit.
    WHERE s ->> 'serial' IS NOT NULL AND NOT coalesce((s ->> 'unplaced')::boolean, false)
    UNION SELECT duly.serial_ref(j.tenant, j.serial) FROM jsonb_array_elements(v_keyed) s
    JOIN duly.dedupes d ON d.type = ANY (ARRAY[s ->> 'type']) AND d.tenant = coalesce(s ->> 'tenant', '') AND d.key = s -> 'dedupe' ->> 'key'
    JOIN duly.jobs j ON j.id = ANY (ARRAY[d.job_id, d.follow_id]) WHERE j.serial IS NOT NULL));
  IF p_repeat THEN PERFORM duly.take_ids(p_now, p_groups); END IF;
  FOR v_group IN SELECT * FROM jsonb_array_elements(p_groups) LOOP
    LOOP
      BEGIN
        v_items := '{}';
        FOR v_spec IN SELECT * FROM jsonb_array_elements(v_group) LOOP
          v_items := v_items || duly.create_job(p_now, v_spec, p_repeat);
        END LOOP;
        v_replies := v_replies || json_build_object('ok', true, 'items', array_to_json(v_items));
        EXIT;
      EXCEPTION
        WHEN SQLSTATE 'DU010' THEN CONTINUE;
        WHEN SQLSTATE 'DU001' OR SQLSTATE 'DU002' THEN
          GET STACKED DIAGNOSTICS v_state = RETURNED_SQLSTATE, v_message = MESSAGE_TEXT, v_hint = PG_EXCEPTION_HINT, v_detail = PG_EXCEPTION_DETAIL;
          v_replies := v_replies || duly.refusal(v_state, v_message, v_hint, v_detail);
          EXIT;
      END;
    END LOOP;
  END LOOP;
  IF jsonb_array_length(v_keyed) > 0 THEN PERFORM duly.drop_keys(v_keyed); END IF;
  IF p_claim IS NOT NULL THEN
    v_claimed := (duly.claim(p_now, p_claim, p_repeat)).claimed;
    -- If the caller claims all that it created, no other node is notified of it.
    IF duly.claimed_all(v_claimed, ARRAY(
      SELECT s ->> 'id' FROM jsonb_array_elements(p_groups) g CROSS JOIN jsonb_array_elements(g) s)) THEN
      PERFORM duly.drop_notification('n');
    END IF;
  END IF;
  RETURN json_build_object('now', p_now, 'notifications', duly.notifications(), 'groups', array_to_json(v_replies), 'claimed', v_claimed)::text;
END $$;
