-- A store that pg_dump brought here from a server which had counted its transactions further: by that count nothing of this one would ever be new. What
-- was not numbered there is numbered now, with all that was made since, and from here on the count of this server rules. Rows keep no number of
-- the other one that this one has yet to reach: it would make them new a second time. 3 is older than every transaction.
CREATE FUNCTION duly.recount_changes(p_last duly.feed_pages) RETURNS void LANGUAGE plpgsql AS $$
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
CREATE FUNCTION duly.number_changes(p_now bigint) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  v_last duly.feed_pages;
  v_seqs bigint[];
  v_n bigint;
  v_at bigint;
BEGIN
  IF NOT pg_try_advisory_xact_lock(hashtext('duly.feed')) THEN RETURN; END IF;
  SELECT * INTO v_last FROM duly.feed_pages ORDER BY page DESC LIMIT 1;
  IF pg_snapshot_xmax(v_last.seen) > pg_snapshot_xmax(pg_current_snapshot()) THEN
    PERFORM duly.recount_changes(v_last);
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
CREATE FUNCTION duly.changes(p_now bigint, p_after bigint, p_limit integer) RETURNS text LANGUAGE plpgsql
SET lock_timeout = '2s'
SET plan_cache_mode = force_generic_plan SET jit = off SET enable_seqscan = off SET enable_bitmapscan = off
SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
  v_now bigint := duly.begin(p_now);
  v_end bigint;
  v_first bigint;
  v_rows json;
BEGIN
  PERFORM duly.number_changes(v_now);
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
CREATE FUNCTION duly.prune_changes(p_now bigint, p_before bigint, p_limit integer) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
  v_page record;
  v_gone integer;
  v_sum integer := 0;
BEGIN
  PERFORM duly.number_changes(p_now);
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
