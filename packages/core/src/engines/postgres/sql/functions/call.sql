-- What every call begins and ends with: its instant, its notifications, the feed, the audit, and refusals.

CREATE FUNCTION duly.now(p_now bigint) RETURNS bigint LANGUAGE sql STABLE AS $$
  -- Not clock_timestamp(): one value for the whole call, and an index range may depend on it.
  SELECT coalesce(p_now, floor(extract(epoch FROM statement_timestamp()) * 1000)::bigint)
$$;

-- Notifications are collected for the length of the call. The first line has one letter for each: jobs of any type, new jobs, cancel, schedules,
-- locks. The client knows the types of the new jobs; the types of other jobs follow as JSON, which has no line breaks, one in each line.
CREATE FUNCTION duly.add_notification(p_letter text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE v_all text := coalesce(current_setting('duly_work.notifications', true), '');
BEGIN
  IF strpos(split_part(v_all, chr(10), 1), p_letter) = 0 THEN PERFORM set_config('duly_work.notifications', p_letter || v_all, true); END IF;
END $$;

-- A job of this type is ready, or may be earlier than a sleeping worker expects. More than 8 types become any.
CREATE FUNCTION duly.add_job_notification(p_type text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  v_all text := coalesce(current_setting('duly_work.notifications', true), '');
  v_line text := chr(10) || to_json(p_type)::text;
BEGIN
  IF strpos(split_part(v_all, chr(10), 1), 'j') > 0 OR strpos(v_all || chr(10), v_line || chr(10)) > 0 THEN RETURN; END IF;
  IF cardinality(string_to_array(v_all, chr(10))) > 8 THEN PERFORM duly.add_notification('j');
  ELSE PERFORM set_config('duly_work.notifications', v_all || v_line, true);
  END IF;
END $$;

CREATE FUNCTION duly.drop_notification(p_letter text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  v_all text := coalesce(current_setting('duly_work.notifications', true), '');
  v_letters text := split_part(v_all, chr(10), 1);
BEGIN
  PERFORM set_config('duly_work.notifications', replace(v_letters, p_letter, '') || substr(v_all, length(v_letters) + 1), true);
END $$;

CREATE FUNCTION duly.notifications() RETURNS text LANGUAGE sql AS $$
  SELECT coalesce(current_setting('duly_work.notifications', true), '')
$$;

-- Begins a call: no notifications yet, and the instant that rules it.
CREATE FUNCTION duly.begin(p_now bigint) RETURNS bigint LANGUAGE plpgsql AS $$
-- An expression costs less than a PERFORM, which is a statement.
DECLARE v_none text := set_config('duly_work.notifications', '', true);
BEGIN
  RETURN duly.now(p_now);
END $$;

-- Makes this call wait, as every write does, until a synchronous standby has all that was seen here. A commit that was on its way to the standby
-- when its session or the server ended is seen by others though the standby may never get it; an answer that rests on it and writes nothing
-- itself would confirm what a failover loses.
CREATE FUNCTION duly.confirm() RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_logical_emit_message(true, 'duly', '');
END $$;

-- Notes a change for the feed.
CREATE FUNCTION duly.changed(p_now bigint, p_id text, p_type text, p_status text, p_event text, p_percent double precision)
RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO duly.changes (at, n, entries)
  VALUES (p_now, 1, json_build_array(json_build_array(p_id), p_type, p_status, p_event, p_percent)::text);
END $$;

-- Writes who did what to a promise already made.
CREATE FUNCTION duly.audit(p_now bigint, p_actor text, p_action text, p_subject text, p_before json, p_after json, p_note text)
RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO duly.audit (at, actor, action, subject, before, after, note)
  VALUES (p_now, p_actor, p_action, p_subject, p_before::text, p_after::text, p_note);
END $$;

-- What refuses one group of a call. The engine reads the code, the hint and the details (as JSON).
CREATE FUNCTION duly.refuse(p_code text, p_message text, p_hint text, p_details json) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION USING
    ERRCODE = CASE p_code WHEN 'records_conflict' THEN 'DU002' ELSE 'DU001' END,
    MESSAGE = p_message, HINT = p_hint, DETAIL = p_details::text;
END $$;

-- The answer to a refused group.
CREATE FUNCTION duly.refusal(p_state text, p_message text, p_hint text, p_detail text) RETURNS json LANGUAGE sql AS $$
  SELECT json_build_object('ok', false, 'code', CASE p_state WHEN 'DU002' THEN 'records_conflict' ELSE 'group_refused' END,
    'message', p_message, 'hint', p_hint, 'details', p_detail::json)
$$;

-- The instant of something that was done to rows which are locked now. A call goes by the instant at which it began, and may see what
-- others, who began after it, have committed meanwhile: it would start a job before it was made, or before the one it waited for had ended.
-- An instant that was given rules.
CREATE FUNCTION duly.after_lock(p_now bigint) RETURNS bigint LANGUAGE sql VOLATILE AS $$
  SELECT CASE WHEN p_now = floor(extract(epoch FROM statement_timestamp()) * 1000)::bigint
    THEN floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint ELSE p_now END
$$;
