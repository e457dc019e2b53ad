-- Folds ledger rows that are past their time into one for each span; answers how many went.
CREATE FUNCTION duly.fold_slots(p_before bigint, p_starts bigint[], p_limit integer) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
  v_slot duly.slots;
  v_compacted duly.compacted_months;
  v_start bigint;
  v_known boolean;
  v_least bigint;
  v_exact integer;
  v_counts jsonb;
  v_at integer;
  v_count integer := 0;
BEGIN
  FOR v_slot IN
    -- A row that is still lengthened is not old, whenever it was begun.
    SELECT * FROM duly.slots WHERE decided_at < p_before AND last_decided_at < p_before ORDER BY decided_at, schedule_id, generation, from_at
    LIMIT p_limit FOR UPDATE SKIP LOCKED
  LOOP
    v_count := v_count + 1;
    DELETE FROM duly.slots
    WHERE schedule_id = v_slot.schedule_id AND generation = v_slot.generation AND from_at = v_slot.from_at;
    v_known := EXISTS (SELECT 1 FROM duly.schedules WHERE id = v_slot.schedule_id);
    -- Nobody can name it any more once the audit has forgotten it too; what was folded before goes with it.
    IF NOT v_known THEN DELETE FROM duly.compacted_months WHERE schedule_id = v_slot.schedule_id; END IF;
    SELECT max(s) INTO v_start FROM unnest(p_starts) s WHERE s <= v_slot.from_at;
    CONTINUE WHEN NOT v_known OR v_start IS NULL;
    -- What nobody counted has a slot at least at each of its ends.
    v_least := coalesce(v_slot.count, CASE WHEN v_slot.from_at = v_slot.to_at THEN 1 ELSE 2 END);
    v_exact := (v_slot.count IS NOT NULL OR v_slot.from_at = v_slot.to_at)::integer;
    SELECT * INTO v_compacted FROM duly.compacted_months
    WHERE schedule_id = v_slot.schedule_id AND generation = v_slot.generation AND start_at = v_start FOR UPDATE;
    v_counts := coalesce(v_compacted.counts::jsonb, '[]');
    SELECT (i - 1)::integer INTO v_at FROM jsonb_array_elements(v_counts) WITH ORDINALITY AS c (c, i) WHERE c ->> 0 = v_slot.decision;
    IF v_at IS NULL THEN
      v_counts := v_counts || jsonb_build_array(jsonb_build_array(v_slot.decision, v_least, v_exact));
    ELSE
      v_counts := jsonb_set(v_counts, ARRAY[v_at::text], jsonb_build_array(v_slot.decision,
        (v_counts -> v_at ->> 1)::bigint + v_least, least((v_counts -> v_at ->> 2)::integer, v_exact)));
    END IF;
    INSERT INTO duly.compacted_months AS f (schedule_id, generation, start_at, from_at, to_at, counts)
    VALUES (v_slot.schedule_id, v_slot.generation, v_start, v_slot.from_at, v_slot.to_at, v_counts::text)
    ON CONFLICT (schedule_id, generation, start_at) DO UPDATE
    SET from_at = least(f.from_at, excluded.from_at), to_at = greatest(f.to_at, excluded.to_at), counts = excluded.counts;
  END LOOP;
  RETURN v_count;
END $$;

-- Remembers the newest instant at which a job was made that is forgotten now: an id made later was never here.
CREATE FUNCTION duly.note_pruned(p_created_at bigint) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO duly.meta AS m (key, value) VALUES ('pruned_created_at', p_created_at)
  ON CONFLICT (key) DO UPDATE SET value = greatest(m.value, excluded.value);
END $$;

-- call: prune
CREATE FUNCTION duly.prune(p_now bigint, p_limit integer, p_ledger_ms bigint, p_starts jsonb, p_audit_ms bigint, p_changes_ms bigint)
RETURNS text LANGUAGE plpgsql
SET lock_timeout = '2s'
SET plan_cache_mode = force_generic_plan SET jit = off SET enable_seqscan = off SET enable_bitmapscan = off
SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
  v_now bigint := duly.begin(p_now);
  v_ids text[];
  v_created bigint;
  v_jobs integer;
  v_keys integer;
  v_values integer;
  v_rows integer[] := '{}';
  v_n integer;
  v_sum integer := 0;
  v_more boolean;
BEGIN
  -- Day partitions are dropped whole (keep_days); what lies outside of them, and dead letters, go a slice at a time.
  WITH old AS (
    SELECT ctid AS tid, prune_at, true AS dead FROM duly.dead WHERE prune_at <= v_now
    UNION ALL SELECT ctid, prune_at, false FROM duly.finished_other WHERE prune_at <= v_now
    ORDER BY prune_at LIMIT p_limit),
  letters AS (
    DELETE FROM duly.dead d WHERE d.ctid = ANY (ARRAY(SELECT tid FROM old WHERE dead)) AND coalesce(d.prune_at <= v_now, false)
    RETURNING d.id, d.created_at),
  others AS (
    DELETE FROM duly.finished_other f WHERE f.ctid = ANY (ARRAY(SELECT tid FROM old WHERE NOT dead)) AND coalesce(f.prune_at <= v_now, false)
    RETURNING f.id, f.created_at)
  SELECT array_agg(g.id), max(g.created_at) INTO v_ids, v_created FROM (SELECT * FROM letters UNION ALL SELECT * FROM others) g;
  v_jobs := coalesce(cardinality(v_ids), 0);
  IF v_jobs > 0 THEN
    PERFORM duly.note_pruned(v_created);
    PERFORM duly.forget(v_ids);
  END IF;
  DELETE FROM duly.dedupes WHERE ctid = ANY (ARRAY(
    -- Behind a holder that ended and was retried, a follow-up may hold the key by now.
    SELECT ctid FROM duly.dedupes
    WHERE until_at IS NOT NULL AND until_at <= v_now AND ended IS NOT NULL AND follow_id IS NULL
    LIMIT p_limit FOR UPDATE SKIP LOCKED));
  GET DIAGNOSTICS v_keys = ROW_COUNT;
  DELETE FROM duly.expirings WHERE ctid = ANY (ARRAY(
    SELECT ctid FROM duly.expirings WHERE expires_at <= v_now LIMIT p_limit FOR UPDATE SKIP LOCKED));
  GET DIAGNOSTICS v_values = ROW_COUNT;
  DELETE FROM duly.journal WHERE ctid = ANY (ARRAY(
    SELECT ctid FROM duly.journal WHERE until_at IS NOT NULL AND until_at <= v_now LIMIT p_limit FOR UPDATE SKIP LOCKED));
  GET DIAGNOSTICS v_n = ROW_COUNT;
  v_rows := v_rows || v_n;
  v_rows := v_rows || duly.fold_slots(v_now - p_ledger_ms, ARRAY(SELECT s::bigint FROM jsonb_array_elements_text(p_starts) s), p_limit);
  -- Positions and instants grow together, so only the oldest rows are looked at.
  DELETE FROM duly.audit WHERE position <= (
    SELECT max(o.position) FROM (SELECT position, at FROM duly.audit ORDER BY position LIMIT p_limit) o WHERE o.at < v_now - p_audit_ms);
  GET DIAGNOSTICS v_n = ROW_COUNT;
  v_rows := v_rows || v_n;
  v_rows := v_rows || duly.prune_changes(v_now, v_now - p_changes_ms, p_limit);
  -- A lock that ended a day ago tells nobody anything any more; its fence lives on in the store's counter.
  DELETE FROM duly.locks WHERE ctid = ANY (ARRAY(
    SELECT ctid FROM duly.locks WHERE until_at < v_now - 86400000 LIMIT p_limit FOR UPDATE SKIP LOCKED));
  GET DIAGNOSTICS v_n = ROW_COUNT;
  v_rows := v_rows || v_n;
  v_more := v_jobs >= p_limit OR v_keys >= p_limit OR v_values >= p_limit;
  FOREACH v_n IN ARRAY v_rows LOOP
    v_sum := v_sum + v_n;
    v_more := v_more OR v_n >= p_limit;
  END LOOP;
  RETURN json_build_object('now', v_now, 'jobs', v_jobs, 'keys', v_keys, 'values', v_values, 'rows', v_sum, 'more', v_more)::text;
END $$;
