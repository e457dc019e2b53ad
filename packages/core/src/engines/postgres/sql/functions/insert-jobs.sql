-- The insert of every verb that creates jobs. A spec is a JSON object as job-columns.ts writes it; fields that are JSON
-- themselves are strings in it.

-- Whether the plain branches may be taken. A test replaces this function, so that everything goes through the full branches.
CREATE FUNCTION duly.allows_plain() RETURNS boolean LANGUAGE sql IMMUTABLE AS $$
  SELECT true
$$;

-- Whether creating the job touches no other job. The same rule in TypeScript is isPlain (lifecycle/is-plain.ts).
CREATE FUNCTION duly.is_plain(p_spec jsonb) RETURNS boolean LANGUAGE sql IMMUTABLE AS $$
  SELECT p_spec ->> 'dedupe' IS NULL AND p_spec ->> 'parentId' IS NULL AND p_spec ->> 'serial' IS NULL
    AND coalesce(p_spec -> 'gates', '[]') = '[]'
$$;

CREATE FUNCTION duly.due_of(p_now bigint, p_due jsonb) RETURNS bigint LANGUAGE sql AS $$
  SELECT coalesce((p_due ->> 'at')::bigint, p_now + (p_due ->> 'inMs')::bigint)
$$;

CREATE FUNCTION duly.are_plain(p_specs jsonb) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
  RETURN NOT EXISTS (SELECT 1 FROM jsonb_array_elements(p_specs) s WHERE NOT duly.is_plain(s));
END $$;

-- The entry of the feed for plain jobs that differ in type or status.
CREATE FUNCTION duly.created_entries(p_now bigint, p_specs jsonb, p_kind integer[], p_ids text[], p_dues bigint[]) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
  RETURN (
    SELECT json_build_array(p_ids, json_agg(k.type ORDER BY j.n),
      json_agg(CASE WHEN coalesce(p_dues[j.n], k.at, p_now + k."inMs") <= p_now THEN 'PENDING' ELSE 'SCHEDULED' END ORDER BY j.n), 'created', 0)::text
    FROM unnest(p_ids) WITH ORDINALITY AS j (id, n)
    CROSS JOIN LATERAL jsonb_to_record(p_specs -> (coalesce(p_kind[j.n], 1) - 1)) AS k (type text, at bigint, "inMs" bigint));
END $$;

-- Creates jobs. The plain branch gets a batch: what jobs share is a kind, one object of `p_specs` with its number `n`, and each list
-- holds one field of all jobs. A list that is null says that the kinds hold the field; `p_kind` null: there is one kind. The full branch
-- gets one job: `p_specs` is its spec. `p_run_now` is the claim that came with the jobs: if it would take exactly these jobs, they are
-- inserted as RUNNING.
--
-- Returns what became of the job, as enqueue replies it (full); the fences of the jobs that run and what the scan found, or null if none
-- runs (plain).
CREATE FUNCTION duly.insert_jobs(
  p_now bigint, p_specs jsonb, p_run_now jsonb DEFAULT NULL, p_kind integer[] DEFAULT NULL, p_ids text[] DEFAULT NULL,
  p_inputs text[] DEFAULT NULL, p_dues bigint[] DEFAULT NULL, p_rank_offsets bigint[] DEFAULT NULL, p_tenants text[] DEFAULT NULL,
  p_metadata text[] DEFAULT NULL, p_schedule_ids text[] DEFAULT NULL, p_slot_ats bigint[] DEFAULT NULL, p_slots text[] DEFAULT NULL,
  p_slot_details text[] DEFAULT NULL)
RETURNS json LANGUAGE plpgsql AS $$
DECLARE
  v_kind jsonb := p_specs -> 0;
  v_read bigint;
  v_fences json;
BEGIN
  -- Plain: no job of the batch has a dedupe key, a parent, a gate or a serial key, so creating them touches no other job, and one
  -- statement inserts them all. It fails (unique violation) if an id exists, and the caller sends the jobs one by one: to look first,
  -- or ON CONFLICT, would cost every call a third more. Full: everything else, one job at a time.
  IF p_ids IS NULL THEN RETURN duly.insert_full(p_now, p_specs); END IF;
  IF NOT (duly.allows_plain() AND duly.is_plain(v_kind) AND (p_kind IS NULL OR duly.are_plain(p_specs))) THEN
    RAISE EXCEPTION USING ERRCODE = 'DU009', MESSAGE = 'Jobs that touch other jobs are not created by columns.';
  END IF;
  IF p_run_now IS NOT NULL AND p_kind IS NULL THEN
    v_read := pg_stat_get_xact_blocks_fetched('duly.jobs'::regclass);
    IF duly.takes_only(p_now, p_run_now, v_kind, p_dues, cardinality(p_ids)) THEN
      v_read := pg_stat_get_xact_blocks_fetched('duly.jobs'::regclass) - v_read;
      v_fences := duly.insert_running(p_now, v_kind, p_run_now, p_ids, p_inputs, p_dues, p_rank_offsets, p_tenants, p_metadata,
        p_schedule_ids, p_slot_ats, p_slots, p_slot_details);
      -- The caller knows the rest of the jobs. As claim_full reports it: nothing is ready in any lane.
      RETURN json_build_object('fences', v_fences, 'scan', CASE WHEN p_run_now -> 'scanHints' IS NOT NULL OR v_read > 300 THEN
        json_build_object('isFull', p_run_now -> 'scanHints' IS NULL, 'pages', v_read, 'isAllPromoted', true, 'lanes', '[]'::json) END);
    END IF;
  END IF;
  -- One kind is read once, beside the jobs in their order; of several, each job reads its own.
  IF p_kind IS NULL THEN
    WITH created AS (
      INSERT INTO duly.jobs (
        {{job.caller -serial}}, status, rank, due_at, expire_at, created_at, updated_at, max_attempts,
        schedule_id, slot, slot_at, slot_allow, slot_details, retention_ms, dead_retention_ms)
      SELECT {{job.caller -serial | k."%field" | , | id=j.id | input=j.input | tenant=coalesce(p_tenants[j.n], k.tenant)
        | metadata=coalesce(p_metadata[j.n], k.metadata) | rankOffsetMs=d.rank_offset}},
        CASE WHEN d.due <= p_now THEN 'PENDING' ELSE 'SCHEDULED' END, CASE WHEN d.due <= p_now THEN d.due + d.rank_offset END,
        d.due, d.due + k."startDeadlineMs", p_now, p_now, k."maxAttempts", coalesce(p_schedule_ids[j.n], k."scheduleId"),
        coalesce(p_slots[j.n], k.slot), coalesce(p_slot_ats[j.n], k."slotAt"), coalesce(k."slotAllow", false),
        coalesce(p_slot_details[j.n], k."slotDetails"), k."retentionMs", k."deadRetentionMs"
      FROM unnest(p_ids, p_inputs) WITH ORDINALITY AS j (id, input, n)
      CROSS JOIN jsonb_to_record(v_kind) AS k (
        {{job.caller -id -input -serial | "%field" %sql}}, at bigint, "inMs" bigint, "startDeadlineMs" bigint, "maxAttempts" integer,
        "retentionMs" bigint, "deadRetentionMs" bigint, "scheduleId" text, slot text, "slotAt" bigint, "slotAllow" boolean, "slotDetails" text)
      CROSS JOIN LATERAL (
        SELECT coalesce(p_dues[j.n], k.at, p_now + k."inMs") AS due, coalesce(p_rank_offsets[j.n], k."rankOffsetMs") AS rank_offset) d)
    INSERT INTO duly.changes (at, n, entries)
    SELECT p_now, cardinality(p_ids), CASE WHEN p_dues IS NULL THEN json_build_array(p_ids, v_kind -> 'type',
        CASE WHEN duly.due_of(p_now, v_kind) <= p_now THEN 'PENDING' ELSE 'SCHEDULED' END, 'created', 0)::text
      ELSE duly.created_entries(p_now, p_specs, p_kind, p_ids, p_dues) END;
  ELSE
    WITH created AS (
      INSERT INTO duly.jobs (
        {{job.caller -serial}}, status, rank, due_at, expire_at, created_at, updated_at, max_attempts,
        schedule_id, slot, slot_at, slot_allow, slot_details, retention_ms, dead_retention_ms)
      SELECT {{job.caller -serial | k."%field" | , | id=j.id | input=j.input | tenant=coalesce(p_tenants[j.n], k.tenant)
        | metadata=coalesce(p_metadata[j.n], k.metadata) | rankOffsetMs=d.rank_offset}},
        CASE WHEN d.due <= p_now THEN 'PENDING' ELSE 'SCHEDULED' END, CASE WHEN d.due <= p_now THEN d.due + d.rank_offset END,
        d.due, d.due + k."startDeadlineMs", p_now, p_now, k."maxAttempts", coalesce(p_schedule_ids[j.n], k."scheduleId"),
        coalesce(p_slots[j.n], k.slot), coalesce(p_slot_ats[j.n], k."slotAt"), coalesce(k."slotAllow", false),
        coalesce(p_slot_details[j.n], k."slotDetails"), k."retentionMs", k."deadRetentionMs"
      FROM unnest(p_ids, p_inputs) WITH ORDINALITY AS j (id, input, n)
      CROSS JOIN LATERAL jsonb_to_record(p_specs -> (p_kind[j.n] - 1)) AS k (
        {{job.caller -id -input -serial | "%field" %sql}}, at bigint, "inMs" bigint, "startDeadlineMs" bigint, "maxAttempts" integer,
        "retentionMs" bigint, "deadRetentionMs" bigint, "scheduleId" text, slot text, "slotAt" bigint, "slotAllow" boolean, "slotDetails" text)
      CROSS JOIN LATERAL (
        SELECT coalesce(p_dues[j.n], k.at, p_now + k."inMs") AS due, coalesce(p_rank_offsets[j.n], k."rankOffsetMs") AS rank_offset) d
      -- In their order: of equal rank the first goes first.
      ORDER BY j.n)
    INSERT INTO duly.changes (at, n, entries)
    VALUES (p_now, cardinality(p_ids), duly.created_entries(p_now, p_specs, p_kind, p_ids, p_dues));
  END IF;
  -- Always null: an expression costs less than a PERFORM.
  RETURN CASE WHEN NOT duly.refuse_late(p_ids) THEN '{}'::json END;
END $$;

-- Inserts plain jobs of one kind as RUNNING, with leases for the worker whose claim came along. That saves a version of each row and its entry
-- in the index of ready jobs. Returns their fences.
CREATE FUNCTION duly.insert_running(
  p_now bigint, p_kind jsonb, p_claim jsonb, p_ids text[], p_inputs text[], p_dues bigint[], p_rank_offsets bigint[], p_tenants text[],
  p_metadata text[], p_schedule_ids text[], p_slot_ats bigint[], p_slots text[], p_slot_details text[])
RETURNS json LANGUAGE plpgsql AS $$
DECLARE v_fences json;
BEGIN
  WITH created AS (
    INSERT INTO duly.jobs (
      {{job.caller -serial}}, status, due_at, expire_at, created_at, updated_at, started_at, lateness_ms, fence, node, claimed_at,
      attempt, max_attempts, schedule_id, slot, slot_at, slot_allow, slot_details, retention_ms, dead_retention_ms)
    SELECT {{job.caller -serial | k."%field" | , | id=j.id | input=j.input | tenant=coalesce(p_tenants[j.n], k.tenant)
      | metadata=coalesce(p_metadata[j.n], k.metadata) | rankOffsetMs=coalesce(p_rank_offsets[j.n], k."rankOffsetMs")}},
      'RUNNING', d.due, d.due + k."startDeadlineMs", p_now, p_now, p_now, p_now - d.due, nextval('duly.fence'), p_claim ->> 'node', p_now,
      1, k."maxAttempts", coalesce(p_schedule_ids[j.n], k."scheduleId"), coalesce(p_slots[j.n], k.slot), coalesce(p_slot_ats[j.n], k."slotAt"),
      coalesce(k."slotAllow", false), coalesce(p_slot_details[j.n], k."slotDetails"), k."retentionMs", k."deadRetentionMs"
    FROM jsonb_to_record(p_kind) AS k (
      {{job.caller -id -input -serial | "%field" %sql}}, at bigint, "inMs" bigint, "startDeadlineMs" bigint, "maxAttempts" integer,
      "retentionMs" bigint, "deadRetentionMs" bigint, "scheduleId" text, slot text, "slotAt" bigint, "slotAllow" boolean, "slotDetails" text)
    CROSS JOIN unnest(p_ids, p_inputs) WITH ORDINALITY AS j (id, input, n)
    CROSS JOIN LATERAL (SELECT coalesce(p_dues[j.n], k.at, p_now + k."inMs") AS due) d
    RETURNING id, seq, fence),
  leased AS (
    INSERT INTO duly.leases (id, seq, fence, node, token, plain, until_at)
    SELECT id, seq, fence, p_claim ->> 'node', p_claim ->> 'token', true, p_now + (p_claim ->> 'leaseMs')::bigint FROM created),
  noted AS (
    INSERT INTO duly.changes (at, n, entries) VALUES
      (p_now, cardinality(p_ids), json_build_array(p_ids, p_kind -> 'type', 'PENDING', 'created', 0)::text),
      (p_now, cardinality(p_ids), json_build_array(p_ids, p_kind -> 'type', 'RUNNING', 'claimed', 0)::text))
  SELECT json_agg(fence) INTO v_fences FROM created;
  RETURN CASE WHEN duly.refuse_late(p_ids) THEN v_fences END;
END $$;

-- Whether a claim would take exactly these new jobs of one kind: all of them are due, and nothing else is ready, due, overdue or paused.
CREATE FUNCTION duly.takes_only(p_now bigint, p_claim jsonb, p_kind jsonb, p_dues bigint[], p_count integer)
RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
  RETURN p_now >= ALL (coalesce(p_dues, ARRAY[duly.due_of(p_now, p_kind)]))
    AND coalesce(p_now - (p_kind ->> 'startDeadlineMs')::bigint <= ALL (coalesce(p_dues, ARRAY[duly.due_of(p_now, p_kind)])), true)
    AND (p_claim ->> 'limit')::integer >= p_count
    AND (jsonb_typeof(p_claim -> 'queues') <> 'array' OR p_claim -> 'queues' ? (p_kind ->> 'queue'))
    AND EXISTS (
      SELECT 1 FROM jsonb_array_elements(p_claim -> 'tasks') t
      WHERE t -> 'type' = p_kind -> 'type' AND (t ->> 'version')::integer >= (p_kind ->> 'version')::integer
        AND (t ->> 'limit')::integer >= p_count)
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

-- Refuses a call that arrives after its own repeat, which took its ids (take_ids): the client has the reply to the repeat. Called once
-- the jobs are inserted, so that a repeat that arrives now finds them. True otherwise: an expression costs less than a PERFORM.
CREATE FUNCTION duly.refuse_late(p_ids text[]) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
  -- Many ids are looked up only if there is one at all.
  IF (cardinality(p_ids) <= 8 OR EXISTS (SELECT 1 FROM duly.journal WHERE scope = 'id'))
    AND EXISTS (SELECT 1 FROM duly.journal WHERE scope = 'id' AND key = ANY (p_ids)) THEN
    RAISE EXCEPTION USING ERRCODE = 'DU011', MESSAGE = 'A repeat of this call arrived first.';
  END IF;
  RETURN true;
END $$;

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

-- The full branch of insert_jobs: inserts a job into the place that its due time, its gates and its serial key give it. A job that comes
-- back (`life`: what it has of its first life) is SCHEDULED until its caller places it.
CREATE FUNCTION duly.insert_full(p_now bigint, p_spec jsonb) RETURNS json LANGUAGE plpgsql AS $$
DECLARE
  v_life jsonb := p_spec -> 'life';
  v_id text := p_spec ->> 'id';
  v_tenant text := p_spec ->> 'tenant';
  v_serial text := p_spec ->> 'serial';
  v_due bigint := duly.due_of(p_now, p_spec);
  v_is_due boolean;
  v_in_line boolean := false;
  -- In a transaction of the user's own no place is taken that others want too; who claims next promotes it.
  v_unplaced boolean := v_life IS NOT NULL OR (v_serial IS NOT NULL AND coalesce((p_spec ->> 'unplaced')::boolean, false));
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
  v_is_due := v_due <= p_now;
  IF v_gates = '[]' AND v_is_due AND NOT v_unplaced THEN v_in_line := duly.has_serial_predecessor(p_now, v_tenant, v_serial, v_due); END IF;
  v_status := CASE WHEN v_gates <> '[]' OR v_in_line THEN 'BLOCKED' WHEN v_is_due AND NOT v_unplaced THEN 'PENDING' ELSE 'SCHEDULED' END;
  INSERT INTO duly.jobs (
    {{job.caller}}, status, reason, rank, due_at, expire_at, created_at, updated_at, fence, node, claimed_at, attempt, spent, error, attempts,
    max_attempts, dedupe_key, parent_id, parent_key, schedule_id, slot, slot_at, slot_allow, slot_details, retention_ms, dead_retention_ms
  ) VALUES (
    {{job.caller | (p_spec ->> '%field')::%sql}},
    v_status, v_life ->> 'reason', CASE WHEN v_status = 'PENDING' THEN v_due + (p_spec ->> 'rankOffsetMs')::bigint END,
    v_due, v_due + (p_spec ->> 'startDeadlineMs')::bigint, coalesce((v_life ->> 'createdAt')::bigint, p_now), p_now,
    coalesce((v_life ->> 'fence')::bigint, 0), v_life ->> 'node', (v_life ->> 'claimedAt')::bigint, coalesce((v_life ->> 'attempt')::integer, 0),
    coalesce((v_life ->> 'spent')::integer, 0), v_life ->> 'error', coalesce(v_life ->> 'attempts', '[]'),
    (p_spec ->> 'maxAttempts')::integer, p_spec -> 'dedupe' ->> 'key', p_spec ->> 'parentId',
    p_spec ->> 'parentKey', p_spec ->> 'scheduleId', p_spec ->> 'slot', (p_spec ->> 'slotAt')::bigint,
    coalesce((p_spec ->> 'slotAllow')::boolean, false), p_spec ->> 'slotDetails',
    (p_spec ->> 'retentionMs')::bigint, (p_spec ->> 'deadRetentionMs')::bigint
  ) ON CONFLICT (id) DO NOTHING RETURNING seq INTO v_seq;
  IF v_life IS NOT NULL THEN
    IF v_seq IS NULL THEN RAISE unique_violation USING MESSAGE = format('Job "%s" was created again meanwhile.', v_id); END IF;
    RETURN NULL;
  END IF;
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
