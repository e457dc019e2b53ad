-- Helpers that deciding and editing schedules share.

-- Whether the runs that are to be told something still wait, and so will hear it. Locks them: a claim that comes now passes them over.
CREATE FUNCTION duly.all_wait(p_reported jsonb) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE v_id text;
BEGIN
  FOR v_id IN SELECT t ->> 'id' FROM jsonb_array_elements(coalesce(p_reported, '[]')) t ORDER BY 1 LOOP
    PERFORM 1 FROM duly.jobs WHERE id = v_id AND status IN ('SCHEDULED', 'PENDING', 'BLOCKED') FOR UPDATE;
    IF NOT FOUND THEN RETURN false; END IF;
  END LOOP;
  RETURN true;
END $$;

-- Gives runs that wait behind others their new details.
CREATE FUNCTION duly.set_slot_details(p_reported jsonb) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  UPDATE duly.jobs j SET slot_details = t.details
  FROM jsonb_to_recordset(coalesce(p_reported, '[]')) AS t (id text, details text)
  WHERE j.id = ANY (ARRAY[t.id]) AND j.slot IS NOT NULL;
END $$;

-- Whether a schedule would wait for a job that is over already. The shared lock makes the job's end wait for us; it then finds the schedule.
CREATE FUNCTION duly.is_over(p_waits_for text) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
  IF p_waits_for IS NULL THEN RETURN false; END IF;
  PERFORM 1 FROM duly.jobs WHERE id = p_waits_for FOR KEY SHARE;
  RETURN NOT FOUND;
END $$;

-- Writes a ledger row, or lengthens the newest one when the decision is the same and no job stands between.
CREATE FUNCTION duly.add_slot(p_now bigint, p_schedule text, p_generation integer, p_slot jsonb) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  v_last duly.slots;
  v_from bigint := (p_slot ->> 'fromAt')::bigint;
  v_to bigint := (p_slot ->> 'toAt')::bigint;
  v_count bigint := (p_slot ->> 'count')::bigint;
BEGIN
  -- A slot with a job stands alone, so nobody has to look.
  IF p_slot ->> 'jobId' IS NULL THEN
    SELECT * INTO v_last FROM duly.slots WHERE schedule_id = p_schedule AND generation = p_generation ORDER BY from_at DESC LIMIT 1;
    IF FOUND AND v_last.job_id IS NULL AND v_last.decision = p_slot ->> 'decision'
      AND v_last.reason IS NOT DISTINCT FROM p_slot ->> 'reason' AND v_last.from_at < v_from
    THEN
      UPDATE duly.slots SET to_at = v_to, count = v_last.count + v_count, last_decided_at = p_now
      WHERE schedule_id = p_schedule AND generation = p_generation AND from_at = v_last.from_at;
      RETURN;
    END IF;
  END IF;
  INSERT INTO duly.slots (schedule_id, generation, from_at, to_at, count, decision, reason, node, job_id, decided_at, last_decided_at)
  VALUES (p_schedule, p_generation, v_from, v_to, v_count, p_slot ->> 'decision', p_slot ->> 'reason', p_slot ->> 'node',
    p_slot ->> 'jobId', p_now, p_now);
END $$;

-- Other runs that an overlap policy ends.
CREATE FUNCTION duly.end_others(p_now bigint, p_others jsonb, p_actor text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  v_one jsonb;
  v_job duly.jobs;
BEGIN
  FOR v_one IN SELECT * FROM jsonb_array_elements(coalesce(p_others, '[]')) LOOP
    v_job := duly.job_state(v_one ->> 'id');
    IF v_job.id IS NOT NULL THEN PERFORM duly.cancel_job(p_now, v_job, v_one ->> 'mode', p_actor, 'overlap policy'); END IF;
  END LOOP;
END $$;

-- Ends the leases of these schedules under these fences, whose rows are locked, and what was decided or edited since.
CREATE FUNCTION duly.leave_leases(p_fences bigint[], p_ids text[]) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  v_fence bigint;
  v_ids text[];
  v_versions bigint[];
BEGIN
  FOREACH v_fence IN ARRAY p_fences LOOP
    SELECT array_agg(s.id ORDER BY u.n), array_agg(s.version ORDER BY u.n) INTO v_ids, v_versions
    FROM duly.schedule_leases l CROSS JOIN LATERAL unnest(l.ids, l.versions) WITH ORDINALITY AS u (id, version, n)
    JOIN duly.schedules s ON s.id = ANY (ARRAY[u.id]) AND s.version = u.version
    WHERE l.fence = v_fence AND u.id NOT IN (SELECT unnest(p_ids));
    IF v_ids IS NULL THEN DELETE FROM duly.schedule_leases WHERE fence = v_fence;
    ELSE UPDATE duly.schedule_leases SET ids = v_ids, versions = v_versions WHERE fence = v_fence;
    END IF;
  END LOOP;
END $$;
