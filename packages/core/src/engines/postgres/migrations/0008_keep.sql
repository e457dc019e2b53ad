-- Locks, values, the journal, nodes, settings, the feed, and forgetting.

-- call: acquire
CREATE FUNCTION duly.acquire_1(p_now bigint, p_name text, p_token text, p_holder text, p_ttl_ms bigint) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  v_now bigint := duly.begin_1(p_now);
  v_made bigint;
  v_lock duly.locks;
BEGIN
  LOOP
    SELECT * INTO v_lock FROM duly.locks WHERE name = p_name FOR UPDATE;
    -- It may have been waited for, until its holder gave it back.
    v_now := duly.after_lock_1(duly.now_1(p_now));
    IF v_lock.name IS NOT NULL THEN
      IF v_lock.until_at > v_now THEN
        IF v_lock.token = p_token THEN PERFORM duly.confirm_1(); END IF;
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
    v_made := duly.after_lock_1(duly.now_1(p_now));
    IF v_made > v_now THEN
      v_now := v_made;
      UPDATE duly.locks SET until_at = v_now + p_ttl_ms WHERE name = p_name RETURNING * INTO v_lock;
    END IF;
    EXIT;
  END LOOP;
  RETURN json_build_object('now', v_now, 'acquired', true, 'fence', v_lock.fence, 'untilAt', v_lock.until_at)::text;
END $$;

-- A lock holds until someone else takes it, so a late renewal that nobody forestalled still counts. `p_ttl_ms` null: gives them back.
-- call: keepLocks
CREATE FUNCTION duly.keep_locks_1(p_now bigint, p_locks jsonb, p_ttl_ms bigint) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  v_now bigint := duly.begin_1(p_now);
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
  IF p_ttl_ms IS NULL THEN PERFORM duly.hint_1('l'); END IF;
  RETURN json_build_object('now', v_now, 'hints', duly.hints_1(), 'kept', to_json(v_kept))::text;
END $$;

-- A clean-up that is no longer wanted. One whose value is gone already runs all the same: at least once.
CREATE FUNCTION duly.drop_cleanup_1(p_now bigint, p_actor text, p_id text, p_why text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE v_job duly.jobs;
BEGIN
  IF p_id IS NULL THEN RETURN; END IF;
  v_job := duly.life_1(p_id);
  IF v_job.id IS NOT NULL THEN PERFORM duly.cancel_job_1(p_now, v_job, 'ask', p_actor, 'value ' || p_why); END IF;
END $$;

CREATE FUNCTION duly.put_value_1(p_now bigint, p_actor text, p_change jsonb) RETURNS json LANGUAGE plpgsql AS $$
DECLARE
  v_op text := p_change ->> 'op';
  v_name text := p_change ->> 'name';
  v_key text := p_change ->> 'key';
  v_row duly.expirings;
  v_there boolean;
  v_repeat boolean;
  v_expires bigint := duly.due_of_1(p_now, nullif(p_change -> 'due', 'null'));
  v_cleanup jsonb := nullif(p_change -> 'cleanup', 'null');
  v_job duly.jobs;
BEGIN
  SELECT * INTO v_row FROM duly.expirings WHERE name = v_name AND key = v_key FOR UPDATE;
  v_there := FOUND AND v_row.expires_at > p_now;
  IF v_op = 'put' THEN
    v_repeat := coalesce(v_row.cleanup_id = v_cleanup ->> 'id', false);
    IF v_there AND NOT v_repeat THEN PERFORM duly.drop_cleanup_1(p_now, p_actor, v_row.cleanup_id, 'replaced'); END IF;
    IF v_cleanup IS NOT NULL THEN
      PERFORM duly.make_job_1(p_now, (v_cleanup - 'inMs') || jsonb_build_object('at', v_expires), v_repeat);
    END IF;
    INSERT INTO duly.expirings (name, key, value, expires_at, cleanup_id)
    VALUES (v_name, v_key, p_change ->> 'value', v_expires, v_cleanup ->> 'id')
    ON CONFLICT (name, key) DO UPDATE SET value = excluded.value, expires_at = excluded.expires_at, cleanup_id = excluded.cleanup_id;
    RETURN json_build_object('result', 'changed', 'expiresAt', v_expires);
  END IF;
  IF NOT v_there THEN RETURN json_build_object('result', 'missing', 'expiresAt', NULL); END IF;
  IF v_op = 'delete' THEN
    PERFORM duly.drop_cleanup_1(p_now, p_actor, v_row.cleanup_id, 'deleted');
    DELETE FROM duly.expirings WHERE name = v_name AND key = v_key;
    PERFORM duly.audit_1(p_now, p_actor, 'delete', 'value:' || v_name || '/' || v_key, json_build_object('expiresAt', v_row.expires_at), NULL, NULL);
    RETURN json_build_object('result', 'changed', 'expiresAt', NULL);
  END IF;
  UPDATE duly.expirings SET expires_at = v_expires WHERE name = v_name AND key = v_key;
  IF v_row.cleanup_id IS NOT NULL THEN
    v_job := duly.life_1(v_row.cleanup_id);
    IF v_job.id IS NOT NULL AND v_job.status <> 'RUNNING' THEN PERFORM duly.move_due_1(p_now, v_job, v_expires, 'rescheduled'); END IF;
  END IF;
  PERFORM duly.audit_1(p_now, p_actor, 'extend', 'value:' || v_name || '/' || v_key, json_build_object('expiresAt', v_row.expires_at),
    json_build_object('expiresAt', v_expires), NULL);
  RETURN json_build_object('result', 'changed', 'expiresAt', v_expires);
END $$;

-- call: putExpiring
CREATE FUNCTION duly.put_expiring_1(p_now bigint, p_groups jsonb) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  v_now bigint := duly.begin_1(p_now);
  v_group jsonb;
  v_change jsonb;
  v_items json[];
  v_replies json[] := '{}';
  v_state text;
  v_message text;
  v_hint text;
  v_detail text;
BEGIN
  FOR v_group IN SELECT * FROM jsonb_array_elements(p_groups) LOOP
    BEGIN
      v_items := '{}';
      FOR v_change IN SELECT * FROM jsonb_array_elements(v_group -> 'changes') LOOP
        v_items := v_items || duly.put_value_1(v_now, v_group ->> 'actor', v_change);
      END LOOP;
      v_replies := v_replies || json_build_object('ok', true, 'items', array_to_json(v_items));
    EXCEPTION WHEN SQLSTATE 'DU001' OR SQLSTATE 'DU002' THEN
      GET STACKED DIAGNOSTICS v_state = RETURNED_SQLSTATE, v_message = MESSAGE_TEXT, v_hint = PG_EXCEPTION_HINT, v_detail = PG_EXCEPTION_DETAIL;
      v_replies := v_replies || duly.refusal_1(v_state, v_message, v_hint, v_detail);
    END;
  END LOOP;
  RETURN json_build_object('now', v_now, 'hints', duly.hints_1(), 'groups', array_to_json(v_replies))::text;
END $$;

-- Reads the journal, and writes it if nothing stands there and the guard holds. The guard is shared-locked until the commit: whoever
-- would take the lock or the lease away waits, and then finds the value.
-- call: remember
CREATE FUNCTION duly.remember_1(p_now bigint, p_scope text, p_key text, p_put jsonb) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  v_now bigint := duly.begin_1(p_now);
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

-- call: nodes
CREATE FUNCTION duly.nodes_1(p_now bigint, p_beat_id text, p_beat text, p_leave text, p_drain text, p_actor text, p_forget_ms bigint)
RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  v_now bigint := duly.begin_1(p_now);
  v_nodes json;
BEGIN
  IF p_beat_id IS NOT NULL THEN
    INSERT INTO duly.nodes (id, info, beat_at) VALUES (p_beat_id, p_beat, v_now)
    ON CONFLICT (id) DO UPDATE SET info = excluded.info, beat_at = excluded.beat_at;
  END IF;
  IF p_leave IS NOT NULL THEN DELETE FROM duly.nodes WHERE id = p_leave; END IF;
  IF p_drain IS NOT NULL THEN
    UPDATE duly.nodes SET drain_requested_at = coalesce(drain_requested_at, v_now) WHERE id = p_drain;
    IF FOUND THEN PERFORM duly.audit_1(v_now, p_actor, 'drain', 'node:' || p_drain, NULL, NULL, NULL); END IF;
  END IF;
  -- Whoever only looks does not write.
  IF p_beat_id IS NOT NULL OR p_leave IS NOT NULL OR p_drain IS NOT NULL THEN
    DELETE FROM duly.nodes WHERE ctid = ANY (ARRAY(
      SELECT ctid FROM duly.nodes WHERE beat_at < v_now - p_forget_ms ORDER BY id FOR UPDATE SKIP LOCKED));
  END IF;
  SELECT json_agg(json_build_object('info', info, 'heartbeatAt', beat_at, 'drainRequestedAt', drain_requested_at) ORDER BY id) INTO v_nodes
  FROM duly.nodes WHERE beat_at >= v_now - p_forget_ms;
  RETURN json_build_object('now', v_now, 'nodes', coalesce(v_nodes, '[]'::json))::text;
END $$;

CREATE FUNCTION duly.record_json_1(r duly.records) RETURNS json LANGUAGE sql AS $$
  SELECT json_build_object('kind', r.kind, 'key', r.key, 'value', r.value, 'version', r.version, 'updatedAt', r.updated_at)
$$;

-- One operation on settings; answers the records it read or wrote, as a list.
CREATE FUNCTION duly.operate_1(p_now bigint, p_actor text, p_op jsonb) RETURNS json LANGUAGE plpgsql AS $$
DECLARE
  v_kind text := p_op ->> 'kind';
  v_key text := p_op ->> 'key';
  v_before duly.records;
  v_after duly.records;
  v_list json;
BEGIN
  IF p_op ->> 'op' = 'list' THEN
    SELECT json_agg(duly.record_json_1(l) ORDER BY l.key) INTO v_list FROM (
      SELECT * FROM duly.records WHERE kind = v_kind AND key > coalesce(p_op ->> 'after', '') ORDER BY key LIMIT (p_op ->> 'limit')::bigint) l;
    RETURN coalesce(v_list, '[]'::json);
  END IF;
  IF p_op ->> 'op' = 'get' THEN
    SELECT * INTO v_before FROM duly.records WHERE kind = v_kind AND key = v_key;
    RETURN CASE WHEN v_before.key IS NULL THEN '[]'::json ELSE json_build_array(duly.record_json_1(v_before)) END;
  END IF;
  SELECT * INTO v_before FROM duly.records WHERE kind = v_kind AND key = v_key FOR UPDATE;
  IF p_op ? 'expectVersion' AND v_before.version IS DISTINCT FROM (p_op ->> 'expectVersion')::bigint THEN
    PERFORM duly.refuse_1('records_conflict', format('The %s "%s" is at version %s, not %s.', v_kind, v_key,
      coalesce(v_before.version::text, 'none'), coalesce(p_op ->> 'expectVersion', 'none')),
      'Someone changed it meanwhile. Read it again and repeat the change.', json_build_object('kind', v_kind, 'key', v_key));
  END IF;
  IF p_op ->> 'op' = 'put' THEN
    INSERT INTO duly.records AS r (kind, key, value, version, updated_at) VALUES (v_kind, v_key, p_op ->> 'value', 1, p_now)
    -- Somebody else may have made it since we looked; then only who does not care may write.
    ON CONFLICT (kind, key) DO UPDATE SET value = excluded.value, version = r.version + 1, updated_at = excluded.updated_at
    WHERE NOT p_op ? 'expectVersion' OR r.version IS NOT DISTINCT FROM v_before.version
    RETURNING * INTO v_after;
    IF NOT FOUND THEN
      PERFORM duly.refuse_1('records_conflict', format('The %s "%s" was created by someone else at the same time.', v_kind, v_key),
        'Read it again and repeat the change.', json_build_object('kind', v_kind, 'key', v_key));
    END IF;
  ELSE
    DELETE FROM duly.records WHERE kind = v_kind AND key = v_key;
  END IF;
  -- The position of a program changes all the time, and nobody decided it. A session changes no work, and any read key may begin one.
  IF v_kind NOT IN ('cursor', 'session') THEN
    PERFORM duly.audit_1(p_now, p_actor, p_op ->> 'op', 'record:' || v_kind || '/' || v_key, v_before.value::json, v_after.value::json, NULL);
  END IF;
  -- A resumed queue has work again.
  IF v_kind = 'pause' THEN PERFORM duly.hint_1('j'); END IF;
  RETURN CASE WHEN v_after.key IS NULL THEN '[]'::json ELSE json_build_array(duly.record_json_1(v_after)) END;
END $$;

-- call: records
CREATE FUNCTION duly.records_1(p_now bigint, p_groups jsonb) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  v_now bigint := duly.begin_1(p_now);
  v_group jsonb;
  v_op jsonb;
  v_items json[];
  v_replies json[] := '{}';
  v_state text;
  v_message text;
  v_hint text;
  v_detail text;
BEGIN
  FOR v_group IN SELECT * FROM jsonb_array_elements(p_groups) LOOP
    BEGIN
      v_items := '{}';
      FOR v_op IN SELECT * FROM jsonb_array_elements(v_group -> 'ops') LOOP
        v_items := v_items || duly.operate_1(v_now, v_group ->> 'actor', v_op);
      END LOOP;
      v_replies := v_replies || json_build_object('ok', true, 'items', array_to_json(v_items));
    EXCEPTION WHEN SQLSTATE 'DU001' OR SQLSTATE 'DU002' THEN
      GET STACKED DIAGNOSTICS v_state = RETURNED_SQLSTATE, v_message = MESSAGE_TEXT, v_hint = PG_EXCEPTION_HINT, v_detail = PG_EXCEPTION_DETAIL;
      v_replies := v_replies || duly.refusal_1(v_state, v_message, v_hint, v_detail);
    END;
  END LOOP;
  RETURN json_build_object('now', v_now, 'hints', duly.hints_1(), 'groups', array_to_json(v_replies))::text;
END $$;

-- A store that pg_dump brought here from a server which had counted its transactions further: by that count nothing of this one would ever be new. What
-- was not numbered there is numbered now, with all that was made since, and from here on the count of this server rules. Rows keep no number of
-- the other one that this one has yet to reach: it would make them new a second time. 3 is older than every transaction.
CREATE FUNCTION duly.recount_changes_1(p_last duly.feed_pages) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  v_numbered bigint := coalesce((SELECT max(s.seq) FROM duly.feed_pages p CROSS JOIN LATERAL unnest(p.seqs) AS s (seq)), 0);
BEGIN
  WITH seen AS (SELECT pg_current_snapshot() AS seen),
  new AS (
    SELECT coalesce(array_agg(c.seq ORDER BY c.seq), '{}') AS seqs, coalesce(sum(c.n), 0) AS n, max(c.at) AS at FROM duly.changes c
    WHERE (c.seq > v_numbered OR NOT pg_visible_in_snapshot(c.xid, p_last.seen)) AND c.xid IS DISTINCT FROM pg_current_xact_id_if_assigned()),
  aged AS (
    UPDATE duly.changes c SET xid = '3'::xid8
    WHERE c.xid >= (SELECT pg_snapshot_xmax(seen) FROM seen) AND c.xid IS DISTINCT FROM pg_current_xact_id_if_assigned())
  INSERT INTO duly.feed_pages (first_position, n, at, seen, seqs)
  SELECT p_last.first_position + p_last.n, new.n, coalesce(new.at, p_last.at), seen.seen, new.seqs FROM new, seen;
END $$;

-- Numbers what became visible since the last look, in order of `seq`, which is drawn while the job's row is locked: the changes of one job
-- are in their order. One at a time; whoever does not get the lock reads the pages that are there.
CREATE FUNCTION duly.number_changes_1(p_now bigint) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  v_last duly.feed_pages;
  v_seqs bigint[];
  v_n bigint;
  v_at bigint;
BEGIN
  IF NOT pg_try_advisory_xact_lock(hashtext('duly.feed')) THEN RETURN; END IF;
  SELECT * INTO v_last FROM duly.feed_pages ORDER BY page DESC LIMIT 1;
  IF pg_snapshot_xmax(v_last.seen) > pg_snapshot_xmax(pg_current_snapshot()) THEN
    PERFORM duly.recount_changes_1(v_last);
    RETURN;
  END IF;
  -- The snapshot that is kept is the one of this very statement: what it does not see comes in the next page, and nothing in two.
  WITH seen AS (SELECT pg_current_snapshot() AS seen),
  new AS (
    SELECT array_agg(c.seq ORDER BY c.seq) AS seqs, sum(c.n) AS n, max(c.at) AS at FROM duly.changes c
    WHERE c.xid >= pg_snapshot_xmin(v_last.seen) AND NOT pg_visible_in_snapshot(c.xid, v_last.seen)
      -- Our own changes, in a user's transaction, are not over yet.
      AND pg_visible_in_snapshot(c.xid, (SELECT seen FROM seen)))
  INSERT INTO duly.feed_pages (first_position, n, at, seen, seqs)
  SELECT v_last.first_position + v_last.n, new.n, new.at, seen.seen, new.seqs FROM new, seen WHERE new.n > 0;
END $$;

-- The feed after a position: pages of rows, each with the position of its first change.
-- call: changes
CREATE FUNCTION duly.changes_1(p_now bigint, p_after bigint, p_limit integer) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  v_now bigint := duly.begin_1(p_now);
  v_end bigint;
  v_first bigint;
  v_rows json;
BEGIN
  PERFORM duly.number_changes_1(v_now);
  SELECT first_position + n - 1 INTO v_end FROM duly.feed_pages ORDER BY page DESC LIMIT 1;
  IF p_after IS NULL OR p_after >= v_end THEN
    RETURN json_build_object('now', v_now, 'end', v_end, 'gap', false, 'rows', '[]'::json)::text;
  END IF;
  -- The oldest position that is kept: pages lose their rows when they are forgotten, the newest page stays to know the place.
  SELECT first_position INTO v_first FROM duly.feed_pages WHERE cardinality(seqs) > 0 ORDER BY page LIMIT 1;
  IF v_first IS NULL OR p_after + 1 < v_first THEN
    RETURN json_build_object('now', v_now, 'end', v_end, 'gap', true, 'rows', '[]'::json)::text;
  END IF;
  SELECT json_agg(json_build_array(r.position, r.at, r.entries::json) ORDER BY r.position) INTO v_rows FROM (
    SELECT p.first_position + sum(c.n) OVER (PARTITION BY p.page ORDER BY s.i) - c.n AS position, c.n, c.at, c.entries
    FROM (
      SELECT * FROM duly.feed_pages
      WHERE first_position >= (SELECT max(first_position) FROM duly.feed_pages WHERE first_position <= p_after + 1)
        AND first_position <= p_after + p_limit
      ORDER BY first_position) p
    CROSS JOIN LATERAL unnest(p.seqs) WITH ORDINALITY AS s (seq, i)
    JOIN duly.changes c ON c.seq = ANY (ARRAY[s.seq])) r
  WHERE r.position + r.n > p_after + 1 AND r.position <= p_after + p_limit;
  RETURN json_build_object('now', v_now, 'end', v_end, 'gap', false, 'rows', coalesce(v_rows, '[]'::json))::text;
END $$;

-- Forgets the oldest pages of the feed and their rows. The newest page stays, emptied, so that no position is given twice.
CREATE FUNCTION duly.prune_changes_1(p_now bigint, p_before bigint, p_limit integer) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
  v_page record;
  v_gone integer;
  v_sum integer := 0;
BEGIN
  PERFORM duly.number_changes_1(p_now);
  FOR v_page IN
    SELECT page, seqs FROM duly.feed_pages WHERE cardinality(seqs) > 0 AND at < p_before ORDER BY page LIMIT p_limit
  LOOP
    DELETE FROM duly.changes WHERE seq = ANY (v_page.seqs);
    GET DIAGNOSTICS v_gone = ROW_COUNT;
    v_sum := v_sum + v_gone;
    UPDATE duly.feed_pages SET seqs = '{}' WHERE page = v_page.page;
    EXIT WHEN v_sum >= p_limit;
  END LOOP;
  DELETE FROM duly.feed_pages WHERE cardinality(seqs) = 0 AND page < (SELECT max(page) FROM duly.feed_pages);
  RETURN v_sum;
END $$;

-- Folds ledger rows that are past their time into one for each span; answers how many went.
CREATE FUNCTION duly.fold_slots_1(p_before bigint, p_starts bigint[], p_limit integer) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
  v_slot duly.slots;
  v_fold duly.folds;
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
    IF NOT v_known THEN DELETE FROM duly.folds WHERE schedule_id = v_slot.schedule_id; END IF;
    SELECT max(s) INTO v_start FROM unnest(p_starts) s WHERE s <= v_slot.from_at;
    CONTINUE WHEN NOT v_known OR v_start IS NULL;
    -- What nobody counted has a slot at least at each of its ends.
    v_least := coalesce(v_slot.count, CASE WHEN v_slot.from_at = v_slot.to_at THEN 1 ELSE 2 END);
    v_exact := (v_slot.count IS NOT NULL OR v_slot.from_at = v_slot.to_at)::integer;
    SELECT * INTO v_fold FROM duly.folds
    WHERE schedule_id = v_slot.schedule_id AND generation = v_slot.generation AND start_at = v_start FOR UPDATE;
    v_counts := coalesce(v_fold.counts::jsonb, '[]');
    SELECT (i - 1)::integer INTO v_at FROM jsonb_array_elements(v_counts) WITH ORDINALITY AS c (c, i) WHERE c ->> 0 = v_slot.decision;
    IF v_at IS NULL THEN
      v_counts := v_counts || jsonb_build_array(jsonb_build_array(v_slot.decision, v_least, v_exact));
    ELSE
      v_counts := jsonb_set(v_counts, ARRAY[v_at::text], jsonb_build_array(v_slot.decision,
        (v_counts -> v_at ->> 1)::bigint + v_least, least((v_counts -> v_at ->> 2)::integer, v_exact)));
    END IF;
    INSERT INTO duly.folds AS f (schedule_id, generation, start_at, from_at, to_at, counts)
    VALUES (v_slot.schedule_id, v_slot.generation, v_start, v_slot.from_at, v_slot.to_at, v_counts::text)
    ON CONFLICT (schedule_id, generation, start_at) DO UPDATE
    SET from_at = least(f.from_at, excluded.from_at), to_at = greatest(f.to_at, excluded.to_at), counts = excluded.counts;
  END LOOP;
  RETURN v_count;
END $$;

-- Remembers the newest instant at which a job was made that is forgotten now: an id made later was never here.
CREATE FUNCTION duly.note_pruned_1(p_made_at bigint) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO duly.meta AS m (key, value) VALUES ('pruned_made_at', p_made_at)
  ON CONFLICT (key) DO UPDATE SET value = greatest(m.value, excluded.value);
END $$;

-- call: prune
CREATE FUNCTION duly.prune_1(p_now bigint, p_limit integer, p_ledger_ms bigint, p_starts jsonb, p_audit_ms bigint, p_changes_ms bigint)
RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  v_now bigint := duly.begin_1(p_now);
  v_ids text[];
  v_made bigint;
  v_jobs integer;
  v_keys integer;
  v_values integer;
  v_rows integer[] := '{}';
  v_n integer;
  v_sum integer := 0;
  v_more boolean;
BEGIN
  -- Day partitions are dropped whole (keep_days_1); what lies outside of them, and dead letters, go a slice at a time.
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
  SELECT array_agg(g.id), max(g.created_at) INTO v_ids, v_made FROM (SELECT * FROM letters UNION ALL SELECT * FROM others) g;
  v_jobs := coalesce(cardinality(v_ids), 0);
  IF v_jobs > 0 THEN
    PERFORM duly.note_pruned_1(v_made);
    PERFORM duly.forget_1(v_ids);
  END IF;
  DELETE FROM duly.dedupes WHERE ctid = ANY (ARRAY(
    SELECT ctid FROM duly.dedupes WHERE until_at IS NOT NULL AND until_at <= v_now AND ended IS NOT NULL
    LIMIT p_limit FOR UPDATE SKIP LOCKED));
  GET DIAGNOSTICS v_keys = ROW_COUNT;
  DELETE FROM duly.expirings WHERE ctid = ANY (ARRAY(
    SELECT ctid FROM duly.expirings WHERE expires_at <= v_now LIMIT p_limit FOR UPDATE SKIP LOCKED));
  GET DIAGNOSTICS v_values = ROW_COUNT;
  DELETE FROM duly.journal WHERE ctid = ANY (ARRAY(
    SELECT ctid FROM duly.journal WHERE until_at IS NOT NULL AND until_at <= v_now LIMIT p_limit FOR UPDATE SKIP LOCKED));
  GET DIAGNOSTICS v_n = ROW_COUNT;
  v_rows := v_rows || v_n;
  v_rows := v_rows || duly.fold_slots_1(v_now - p_ledger_ms, ARRAY(SELECT s::bigint FROM jsonb_array_elements_text(p_starts) s), p_limit);
  -- Positions and instants grow together, so only the oldest rows are looked at.
  DELETE FROM duly.audit WHERE position <= (
    SELECT max(o.position) FROM (SELECT position, at FROM duly.audit ORDER BY position LIMIT p_limit) o WHERE o.at < v_now - p_audit_ms);
  GET DIAGNOSTICS v_n = ROW_COUNT;
  v_rows := v_rows || v_n;
  v_rows := v_rows || duly.prune_changes_1(v_now, v_now - p_changes_ms, p_limit);
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
