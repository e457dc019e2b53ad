-- Creating jobs. A spec is a JSON object as verbs/enqueue.ts writes it; fields that are JSON themselves are strings in it.

CREATE FUNCTION duly.due_of(p_now bigint, p_due jsonb) RETURNS bigint LANGUAGE sql AS $$
  SELECT coalesce((p_due ->> 'at')::bigint, p_now + (p_due ->> 'inMs')::bigint)
$$;

-- The same of a job that is there, or was deleted in the last 24 hours; a deletion does not tell the type.
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

-- Whether a new job that is due has to stand in line for its serial place. Locks the key.
CREATE FUNCTION duly.has_serial_predecessor(p_now bigint, p_tenant text, p_serial text, p_due bigint)
RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE v_ref text;
BEGIN
  IF p_serial IS NULL THEN RETURN false; END IF;
  v_ref := duly.serial_ref(p_tenant, p_serial);
  PERFORM duly.lock_serial(v_ref);
  PERFORM duly.queue_serial(p_now, p_tenant, p_serial, '');
  IF EXISTS (SELECT 1 FROM duly.places WHERE kind = 'serial' AND ref = v_ref) THEN RETURN true; END IF;
  -- It will be the last one made, so of equal due instants it comes last.
  IF duly.has_earlier(v_ref, p_due, 9223372036854775807) THEN PERFORM duly.promote_serial_head(p_now, v_ref); END IF;
  RETURN EXISTS (SELECT 1 FROM duly.places WHERE kind = 'serial' AND ref = v_ref);
END $$;

-- Refuses a spec whose id stands for a job of another type. `p_type` null: not known.
CREATE FUNCTION duly.refuse_type(p_spec jsonb, p_type text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  IF p_type <> p_spec ->> 'type' THEN
    PERFORM duly.refuse('group_refused',
      format('Job "%s" exists already with type "%s", not "%s".', p_spec ->> 'id', p_type, p_spec ->> 'type'),
      'Ids are created by the client, one per job. Create a new id for a new job.', json_build_object('id', p_spec ->> 'id'));
  END IF;
END $$;

-- Inserts a job into the place its due time and gates give it. `p_behind`: a job whose end it waits for because of its dedupe key.
CREATE FUNCTION duly.insert_job(p_now bigint, p_spec jsonb, p_behind text) RETURNS json LANGUAGE plpgsql AS $$
DECLARE
  v_id text := p_spec ->> 'id';
  v_tenant text := p_spec ->> 'tenant';
  v_serial text := p_spec ->> 'serial';
  v_due bigint := duly.due_of(p_now, p_spec);
  v_is_due boolean;
  v_in_line boolean := false;
  -- In a transaction of the user's own no place is taken that others want too; who claims next promotes it.
  v_unplaced boolean := v_serial IS NOT NULL AND coalesce((p_spec ->> 'unplaced')::boolean, false);
  v_gates jsonb := '[]';
  v_gate jsonb;
  v_status text;
  v_seq bigint;
  v_known record;
BEGIN
  FOR v_gate IN SELECT * FROM jsonb_array_elements(p_spec -> 'gates') LOOP
    CONTINUE WHEN v_gate ->> 'kind' = 'serial';
    -- The shared lock makes an end of that job wait for us, and its later statement then finds our gate.
    PERFORM 1 FROM duly.jobs WHERE id = v_gate ->> 'ref' FOR KEY SHARE;
    IF FOUND THEN v_gates := v_gates || v_gate; END IF;
  END LOOP;
  IF p_behind IS NOT NULL THEN v_gates := v_gates || jsonb_build_object('kind', 'dedupe', 'ref', p_behind); END IF;
  v_is_due := v_due <= p_now;
  IF v_gates = '[]' AND v_is_due AND NOT v_unplaced THEN v_in_line := duly.has_serial_predecessor(p_now, v_tenant, v_serial, v_due); END IF;
  v_status := CASE WHEN v_gates <> '[]' OR v_in_line THEN 'BLOCKED' WHEN v_is_due AND NOT v_unplaced THEN 'PENDING' ELSE 'SCHEDULED' END;
  INSERT INTO duly.jobs (
    {{job.caller}}, status, rank, due_at, expire_at, created_at, updated_at, max_attempts, dedupe_key, parent_id, parent_key,
    schedule_id, slot, slot_at, slot_allow, slot_details, retention_ms, dead_retention_ms
  ) VALUES (
    {{job.caller | (p_spec ->> '%field')::%sql}},
    v_status, CASE WHEN v_status = 'PENDING' THEN v_due + (p_spec ->> 'rankOffsetMs')::bigint END,
    v_due, v_due + (p_spec ->> 'startDeadlineMs')::bigint, p_now, p_now,
    (p_spec ->> 'maxAttempts')::integer, p_spec -> 'dedupe' ->> 'key', p_spec ->> 'parentId',
    p_spec ->> 'parentKey', p_spec ->> 'scheduleId', p_spec ->> 'slot', (p_spec ->> 'slotAt')::bigint,
    coalesce((p_spec ->> 'slotAllow')::boolean, false), p_spec ->> 'slotDetails',
    (p_spec ->> 'retentionMs')::bigint, (p_spec ->> 'deadRetentionMs')::bigint
  ) ON CONFLICT (id) DO NOTHING RETURNING seq INTO v_seq;
  IF v_seq IS NULL THEN
    -- It may have ended since the conflict.
    v_known := duly.find_brief(v_id);
    PERFORM duly.refuse_type(p_spec, v_known.type);
    RETURN duly.item(v_id, coalesce(v_known.status, 'COMPLETED'), coalesce(v_known.due_at, p_now), false);
  END IF;
  FOR v_gate IN SELECT * FROM jsonb_array_elements(v_gates) LOOP
    INSERT INTO duly.gates (kind, ref, order_at, seq, job) VALUES (v_gate ->> 'kind', v_gate ->> 'ref', 0, v_seq, v_id)
    ON CONFLICT DO NOTHING;
  END LOOP;
  IF v_in_line THEN
    INSERT INTO duly.gates (kind, ref, order_at, seq, job)
    VALUES ('serial', duly.serial_ref(v_tenant, v_serial), v_due, v_seq, v_id);
  ELSIF v_status = 'PENDING' AND v_serial IS NOT NULL THEN
    INSERT INTO duly.places (kind, ref, job) VALUES ('serial', duly.serial_ref(v_tenant, v_serial), v_id);
  END IF;
  PERFORM duly.changed(p_now, v_id, p_spec ->> 'type', v_status, 'created', 0);
  -- Also for later ones: a sleeping node may have to wake earlier than it thought.
  IF v_status <> 'BLOCKED' THEN PERFORM duly.add_notification('n'); END IF;
  RETURN duly.item(v_id, v_status, v_due, false);
END $$;

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
  IF v_taken THEN RETURN duly.insert_job(p_now, p_spec, NULL); END IF;
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
      v_item := duly.insert_job(p_now, p_spec, v_live.id);
      UPDATE duly.dedupes SET follow_id = v_id, follow_until = v_until WHERE type = v_type AND tenant = v_tenant AND key = v_key;
      RETURN v_item;
    END IF;
  END IF;
  v_item := duly.insert_job(p_now, p_spec, NULL);
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
  ELSE v_item := duly.insert_job(p_now, p_spec, NULL);
  END IF;
  -- Another job keeps the promise, so no child was made.
  IF v_key IS NOT NULL AND v_item ->> 'id' <> v_id THEN
    DELETE FROM duly.children WHERE parent_id = v_parent AND key = v_key AND job_id = v_id;
  END IF;
  RETURN v_item;
END $$;

-- Refuses a call that arrives after its own repeat, which took its ids (take_ids): the client has the reply to the repeat. Called once
-- the jobs are inserted, so that a repeat that arrives now finds them.
CREATE FUNCTION duly.refuse_late(p_ids text[]) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  -- Many ids are looked up only if there is one at all.
  IF (cardinality(p_ids) <= 8 OR EXISTS (SELECT 1 FROM duly.journal WHERE scope = 'id'))
    AND EXISTS (SELECT 1 FROM duly.journal WHERE scope = 'id' AND key = ANY (p_ids)) THEN
    RAISE EXCEPTION USING ERRCODE = 'DU011', MESSAGE = 'A repeat of this call arrived first.';
  END IF;
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

-- Makes many jobs that touch no other job, with one statement. Fails (unique violation) where an id is there already: then the caller
-- begins again with care. To look first, or ON CONFLICT, would cost every call a third more. They are given by columns; a field that
-- is the same for all of them stands in `shared`.
CREATE FUNCTION duly.create_plain(p_now bigint, p_plain jsonb) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  v_columns jsonb := p_plain -> 'columns';
  {{job.caller -id -serial | shared_%column %sql := p_plain -> 'shared' ->> '%field'; |}}
  v_at bigint := p_plain -> 'shared' ->> 'at';
  v_in_ms bigint := p_plain -> 'shared' ->> 'inMs';
  v_start_deadline_ms bigint := p_plain -> 'shared' ->> 'startDeadlineMs';
  v_max_attempts integer := p_plain -> 'shared' ->> 'maxAttempts';
  v_schedule_id text := p_plain -> 'shared' ->> 'scheduleId';
  v_slot text := p_plain -> 'shared' ->> 'slot';
  v_slot_at bigint := p_plain -> 'shared' ->> 'slotAt';
  v_slot_allow boolean := p_plain -> 'shared' ->> 'slotAllow';
  v_slot_details text := p_plain -> 'shared' ->> 'slotDetails';
  v_retention_ms bigint := p_plain -> 'shared' ->> 'retentionMs';
  v_dead_retention_ms bigint := p_plain -> 'shared' ->> 'deadRetentionMs';
BEGIN
  WITH created AS (
    INSERT INTO duly.jobs (
      {{job.caller -serial}}, status, rank, due_at, expire_at, created_at, updated_at,
      max_attempts, schedule_id, slot, slot_at, slot_allow, slot_details, retention_ms, dead_retention_ms)
    SELECT {{job.caller -serial | coalesce(s.%column::%sql, shared_%column) | , | id=s.id}},
      CASE WHEN d.due <= p_now THEN 'PENDING' ELSE 'SCHEDULED' END,
      CASE WHEN d.due <= p_now THEN d.due + d.rank_offset END, d.due,
      d.due + coalesce(s.start_deadline_ms::bigint, v_start_deadline_ms), p_now, p_now, coalesce(s.max_attempts::integer, v_max_attempts),
      coalesce(s.schedule_id, v_schedule_id), coalesce(s.slot, v_slot), coalesce(s.slot_at::bigint, v_slot_at),
      coalesce(s.slot_allow::boolean, v_slot_allow, false), coalesce(s.slot_details, v_slot_details),
      coalesce(s.retention_ms::bigint, v_retention_ms), coalesce(s.dead_retention_ms::bigint, v_dead_retention_ms)
    FROM ROWS FROM (
      {{job.caller -serial | jsonb_array_elements_text(coalesce(v_columns -> '%field', '[]'))}},
      jsonb_array_elements_text(coalesce(v_columns -> 'at', '[]')), jsonb_array_elements_text(coalesce(v_columns -> 'inMs', '[]')),
      jsonb_array_elements_text(coalesce(v_columns -> 'startDeadlineMs', '[]')), jsonb_array_elements_text(coalesce(v_columns -> 'maxAttempts', '[]')),
      jsonb_array_elements_text(coalesce(v_columns -> 'scheduleId', '[]')), jsonb_array_elements_text(coalesce(v_columns -> 'slot', '[]')),
      jsonb_array_elements_text(coalesce(v_columns -> 'slotAt', '[]')), jsonb_array_elements_text(coalesce(v_columns -> 'slotAllow', '[]')),
      jsonb_array_elements_text(coalesce(v_columns -> 'slotDetails', '[]')), jsonb_array_elements_text(coalesce(v_columns -> 'retentionMs', '[]')),
      jsonb_array_elements_text(coalesce(v_columns -> 'deadRetentionMs', '[]'))
    ) AS s ({{job.caller -serial}}, due_at, in_ms, start_deadline_ms, max_attempts, schedule_id, slot, slot_at, slot_allow, slot_details,
      retention_ms, dead_retention_ms)
    CROSS JOIN LATERAL (
      SELECT coalesce(s.due_at::bigint, v_at, p_now + coalesce(s.in_ms::bigint, v_in_ms)) AS due,
        coalesce(s.rank_offset::bigint, shared_rank_offset) AS rank_offset) d
    RETURNING id, type, status)
  INSERT INTO duly.changes (at, n, entries)
  SELECT p_now, count(*), json_build_array(json_agg(id), json_agg(type), json_agg(status), 'created', 0)::text FROM created;
  PERFORM duly.refuse_late(ARRAY(SELECT jsonb_array_elements_text(v_columns -> 'id')));
  PERFORM duly.add_notification('n');
END $$;

-- Takes work together with what was just made. If the caller took all of it, nobody else is woken for it.
-- `p_created` null: more happened than that jobs were made, and the others may have to know.
CREATE FUNCTION duly.claim_created(p_now bigint, p_claim jsonb, p_repeat boolean, p_created text[]) RETURNS json LANGUAGE plpgsql AS $$
DECLARE v_claim record;
BEGIN
  IF p_claim IS NULL THEN RETURN '[]'; END IF;
  v_claim := duly.claim(p_now, p_claim, p_repeat);
  IF p_created IS NOT NULL AND duly.claimed_all(v_claim.claimed, p_created) THEN PERFORM duly.drop_notification('n'); END IF;
  RETURN v_claim.claimed;
END $$;

-- How long it waits for locks is set by the functions that call it.
-- `p_plain`: all jobs are plain and come by columns, those of all groups together. The answer then says what each became by its due instant.
CREATE FUNCTION duly.enqueue(p_now bigint, p_groups jsonb, p_plain jsonb, p_claim jsonb, p_repeat boolean) RETURNS text LANGUAGE plpgsql
SET plan_cache_mode = force_generic_plan SET jit = off SET enable_seqscan = off SET enable_bitmapscan = off
SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
  v_now bigint := duly.begin(p_now);
  v_replies json[] := '{}';
  v_items json[];
  v_group jsonb;
  v_spec jsonb;
  v_keyed jsonb;
  v_created text[];
  v_claimed json;
  v_state text;
  v_message text;
  v_hint text;
  v_detail text;
BEGIN
  IF p_plain IS NOT NULL THEN
    IF jsonb_array_length(p_plain -> 'columns' -> 'id') > 0 THEN PERFORM duly.create_plain(v_now, p_plain); END IF;
    IF p_claim IS NOT NULL THEN v_created := ARRAY(SELECT jsonb_array_elements_text(p_plain -> 'columns' -> 'id')); END IF;
    v_claimed := duly.claim_created(v_now, p_claim, p_repeat, v_created);
    RETURN json_build_object('now', v_now, 'notifications', duly.notifications(), 'claimed', v_claimed)::text;
  END IF;
  SELECT jsonb_agg(s) INTO v_keyed FROM jsonb_array_elements(p_groups) g CROSS JOIN jsonb_array_elements(g) s
  WHERE jsonb_typeof(s -> 'dedupe') = 'object';
  IF jsonb_array_length(v_keyed) > 0 THEN PERFORM duly.take_keys(v_now, v_keyed); END IF;
  -- Then the serial keys: of the jobs, and of those that hold a key or follow and may be moved.
  PERFORM duly.lock_serials(ARRAY(
    SELECT duly.serial_ref(s ->> 'tenant', s ->> 'serial') FROM jsonb_array_elements(p_groups) g CROSS JOIN jsonb_array_elements(g) s
    -- One that is made in the user's own transaction takes no place, and must not keep others from theirs until the commit.
    WHERE s ->> 'serial' IS NOT NULL AND NOT coalesce((s ->> 'unplaced')::boolean, false)
    UNION SELECT duly.serial_ref(j.tenant, j.serial) FROM jsonb_array_elements(v_keyed) s
    JOIN duly.dedupes d ON d.type = ANY (ARRAY[s ->> 'type']) AND d.tenant = coalesce(s ->> 'tenant', '') AND d.key = s -> 'dedupe' ->> 'key'
    JOIN duly.jobs j ON j.id = ANY (ARRAY[d.job_id, d.follow_id]) WHERE j.serial IS NOT NULL));
  IF p_repeat THEN PERFORM duly.take_ids(v_now, p_groups); END IF;
  FOR v_group IN SELECT * FROM jsonb_array_elements(p_groups) LOOP
    LOOP
      BEGIN
        v_items := '{}';
        FOR v_spec IN SELECT * FROM jsonb_array_elements(v_group) LOOP
          v_items := v_items || duly.create_job(v_now, v_spec, p_repeat);
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
  v_claimed := duly.claim_created(v_now, p_claim, p_repeat, CASE WHEN p_plain IS NULL THEN NULL ELSE v_created END);
  RETURN json_build_object('now', v_now, 'notifications', duly.notifications(), 'groups', array_to_json(v_replies), 'claimed', v_claimed)::text;
END $$;

-- With a dedupe key one may stand behind somebody's open transaction: soon told, and asked again later, so that no connection is held.
-- call: enqueueKeyed
CREATE FUNCTION duly.enqueue_keyed(p_now bigint, p_groups jsonb, p_plain jsonb, p_claim jsonb, p_repeat boolean) RETURNS text LANGUAGE plpgsql
SET lock_timeout = '100ms'
SET plan_cache_mode = force_generic_plan SET jit = off SET enable_seqscan = off SET enable_bitmapscan = off
SET enable_hashjoin = off SET enable_mergejoin = off AS $$
BEGIN
  RETURN duly.enqueue(p_now, p_groups, p_plain, p_claim, p_repeat);
END $$;

-- Everything else, also inside the user's transaction. Plain jobs wait for nobody but whoever locks the whole table.
-- call: enqueueWaiting
CREATE FUNCTION duly.enqueue_waiting(p_now bigint, p_groups jsonb, p_plain jsonb, p_claim jsonb, p_repeat boolean) RETURNS text LANGUAGE plpgsql
SET lock_timeout = '2s'
SET plan_cache_mode = force_generic_plan SET jit = off SET enable_seqscan = off SET enable_bitmapscan = off
SET enable_hashjoin = off SET enable_mergejoin = off AS $$
BEGIN
  RETURN duly.enqueue(p_now, p_groups, p_plain, p_claim, p_repeat);
END $$;

-- Whether a claim would be given just these new jobs, so many of one type: nothing else is ready, due, overdue or paused.
CREATE FUNCTION duly.takes_just(p_now bigint, p_claim jsonb, p_type text, p_version integer, p_queue text, p_count integer)
RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
  RETURN (p_claim ->> 'limit')::integer >= p_count
    AND (jsonb_typeof(p_claim -> 'queues') <> 'array' OR p_claim -> 'queues' ? p_queue)
    AND EXISTS (
      SELECT 1 FROM jsonb_array_elements(p_claim -> 'tasks') t
      WHERE t ->> 'type' = p_type AND (t ->> 'version')::integer >= p_version AND (t ->> 'limit')::integer >= p_count)
    AND NOT EXISTS (SELECT 1 FROM duly.jobs WHERE rank IS NOT NULL AND solo > 0)
    AND CASE WHEN p_claim -> 'scanHints' IS NULL THEN NOT EXISTS (SELECT 1 FROM duly.jobs WHERE rank IS NOT NULL)
      ELSE NOT EXISTS (
        SELECT 1 FROM jsonb_to_recordset(p_claim -> 'scanHints' -> 'lanes') AS l (type text, version integer, queue text, rank bigint)
        CROSS JOIN LATERAL (
          SELECT 1 FROM duly.jobs j
          WHERE j.rank IS NOT NULL AND j.solo = 0 AND j.type = l.type AND j.version = l.version AND j.queue = l.queue AND j.rank >= l.rank
          LIMIT 1) r) END
    AND NOT EXISTS (SELECT 1 FROM duly.records WHERE kind = 'pause')
    AND NOT EXISTS (SELECT 1 FROM duly.left_places)
    AND NOT EXISTS (SELECT 1 FROM duly.jobs WHERE expire_at IS NOT NULL AND started_at IS NULL AND expire_at < p_now)
    AND NOT EXISTS (
      SELECT 1 FROM jsonb_array_elements(p_claim -> 'tasks') t CROSS JOIN LATERAL (
        SELECT 1 FROM duly.jobs j WHERE j.rank IS NULL AND j.status IN ('SCHEDULED', 'RETRYING') AND j.type = t ->> 'type' AND j.due_at <= p_now
          AND j.due_at >= coalesce((p_claim -> 'scanHints' ->> 'dueAt')::bigint, -9223372036854775808)
        LIMIT 1) d);
END $$;

-- Plain jobs that differ in nothing but their input, made together, with a claim beside them; `p_shared` is what they have in common. Fails
-- (unique violation) where an id is there already: then the caller begins again with care.
-- call: enqueueAlike
CREATE FUNCTION duly.enqueue_alike(p_now bigint, p_ids text[], p_inputs text[], p_shared jsonb, p_claim jsonb) RETURNS text LANGUAGE plpgsql
SET lock_timeout = '2s'
SET plan_cache_mode = force_generic_plan SET jit = off SET enable_seqscan = off SET enable_bitmapscan = off
SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
  v_now bigint := coalesce(p_now, floor(extract(epoch FROM statement_timestamp()) * 1000)::bigint);
  s record;
  v_due bigint;
  v_rank bigint;
  v_status text;
  v_fence bigint;
  v_read bigint;
  v_claim record;
BEGIN
  IF p_claim IS NULL THEN
    -- One statement: see claim_alone.
    WITH created AS (
      INSERT INTO duly.jobs (
        {{job.caller -serial}}, status, rank, due_at, expire_at, created_at, updated_at, max_attempts, retention_ms, dead_retention_ms)
      SELECT {{job.caller -serial | c."%field" | , | id=j.id | input=coalesce(j.input, c.input)}},
        CASE WHEN d.due <= v_now THEN 'PENDING' ELSE 'SCHEDULED' END,
        CASE WHEN d.due <= v_now THEN d.due + c."rankOffsetMs" END, d.due, d.due + c."startDeadlineMs", v_now, v_now,
        c."maxAttempts", c."retentionMs", c."deadRetentionMs"
      FROM jsonb_to_record(p_shared) AS c (
        {{job.caller -id -serial | "%field" %sql}}, at bigint, "inMs" bigint, "startDeadlineMs" bigint, "maxAttempts" integer,
        "retentionMs" bigint, "deadRetentionMs" bigint)
      CROSS JOIN LATERAL (SELECT coalesce(c.at, v_now + c."inMs") AS due) d
      CROSS JOIN unnest(p_ids, p_inputs) AS j (id, input))
    INSERT INTO duly.changes (at, n, entries)
    SELECT v_now, cardinality(p_ids), json_build_array(p_ids, p_shared ->> 'type',
      CASE WHEN coalesce((p_shared ->> 'at')::bigint, v_now + (p_shared ->> 'inMs')::bigint) <= v_now THEN 'PENDING' ELSE 'SCHEDULED' END,
      'created', 0)::text;
    PERFORM duly.refuse_late(p_ids);
    RETURN json_build_object('now', v_now, 'claimed', '[]'::json, 'notifications', 'n')::text;
  END IF;
  v_read := duly.pages_read();
  SELECT * INTO s FROM jsonb_to_record(p_shared) AS s (
    {{job.caller -id -serial | "%field" %sql}}, at bigint, "inMs" bigint, "startDeadlineMs" bigint, "maxAttempts" integer,
    "retentionMs" bigint, "deadRetentionMs" bigint);
  v_due := coalesce(s.at, v_now + s."inMs");
  IF cardinality(p_ids) = 1 AND v_due <= v_now AND duly.takes_just(v_now, p_claim, s.type, s.version, s.queue, 1) THEN
    v_read := duly.pages_read() - v_read;
    v_fence := nextval('duly.fence');
    WITH created AS (
      INSERT INTO duly.jobs (
        {{job.caller -serial}}, status, due_at, expire_at, created_at, updated_at, started_at, lateness_ms,
        fence, node, claimed_at, attempt, max_attempts, retention_ms, dead_retention_ms)
      VALUES ({{job.caller -serial | s."%field" | , | id=p_ids[1] | input=coalesce(p_inputs[1], s.input)}},
        'RUNNING', v_due, v_due + s."startDeadlineMs",
        v_now, v_now, v_now, v_now - v_due, v_fence, p_claim ->> 'node', v_now, 1, s."maxAttempts", s."retentionMs", s."deadRetentionMs")
      RETURNING seq),
    leased AS (
      INSERT INTO duly.leases (id, seq, fence, node, token, plain, until_at)
      SELECT p_ids[1], seq, v_fence, p_claim ->> 'node', p_claim ->> 'token', true, v_now + (p_claim ->> 'leaseMs')::bigint FROM created)
    INSERT INTO duly.changes (at, n, entries) VALUES
      (v_now, 1, json_build_array(p_ids, s.type, 'PENDING', 'created', 0)::text),
      (v_now, 1, json_build_array(p_ids, s.type, 'RUNNING', 'claimed', 0)::text);
    PERFORM duly.refuse_late(p_ids);
    -- See claim: nothing lives in any lane.
    RETURN json_build_object('now', v_now, 'scan', CASE WHEN p_claim -> 'scanHints' IS NOT NULL OR v_read > 300 THEN
      json_build_object('isFull', p_claim -> 'scanHints' IS NULL, 'pages', v_read, 'isAllPromoted', true, 'lanes', '[]'::json) END,
      'claimed', json_build_object(
      'columns', json_build_array(
        {{job.claimColumns | CASE WHEN s."%field" IS NOT NULL THEN json_build_array(s."%field") END | ,
        | id=p_ids | fence=json_build_array(v_fence) | input=json_build_array(coalesce(p_inputs[1], s.input))
        | createdAt=json_build_array(v_now) | dueAt=json_build_array(v_due) | slot=NULL, NULL}}),
      {{job.claim +caller +shared | '%field', s."%field"}}, 'claimedAt', v_now, 'attempt', 1,
      'spent', 0, 'maxAttempts', s."maxAttempts", 'losses', 0, 'begunLosses', 0))::text;
  END IF;
  v_status := CASE WHEN v_due <= v_now THEN 'PENDING' ELSE 'SCHEDULED' END;
  IF v_due <= v_now THEN v_rank := v_due + s."rankOffsetMs"; END IF;
  INSERT INTO duly.jobs (
    {{job.caller -serial}}, status, rank, due_at, expire_at, created_at, updated_at, max_attempts, retention_ms, dead_retention_ms)
  SELECT {{job.caller -serial | s."%field" | , | id=j.id | input=coalesce(j.input, s.input)}}, v_status, v_rank, v_due,
    v_due + s."startDeadlineMs", v_now, v_now, s."maxAttempts", s."retentionMs", s."deadRetentionMs"
  FROM unnest(p_ids, p_inputs) AS j (id, input);
  INSERT INTO duly.changes (at, n, entries)
  VALUES (v_now, cardinality(p_ids), json_build_array(p_ids, s.type, v_status, 'created', 0)::text);
  PERFORM duly.refuse_late(p_ids);
  PERFORM set_config('duly_work.notifications', '', true);
  v_claim := duly.claim(v_now, p_claim, false);
  -- Who took all of it wakes nobody for it.
  RETURN json_build_object('now', v_now, 'claimed', v_claim.claimed, 'scan', v_claim.scan, 'notifications',
    CASE WHEN duly.claimed_all(v_claim.claimed, p_ids) THEN duly.notifications() ELSE 'n' || duly.notifications() END)::text;
END $$;
