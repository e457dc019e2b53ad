-- Reading jobs. A statement knows the days of history that there were when it was planned, and sees what is there when it begins: between the
-- two a day may have been made, with what waited for it, and then nobody would find a job that is there. What a STABLE function asks is planned
-- after the instant at which its caller began to see, and so it knows every day that it can see anything of.

-- Jobs by id, wherever they are: one that was brought back to life may be in several places.
CREATE FUNCTION duly.found(p_ids text[]) RETURNS SETOF duly.over LANGUAGE plpgsql STABLE
SET plan_cache_mode = force_generic_plan SET jit = off SET enable_seqscan = off SET enable_bitmapscan = off
SET enable_hashjoin = off SET enable_mergejoin = off AS $$
BEGIN
  RETURN QUERY SELECT l.* FROM (SELECT DISTINCT i.id FROM unnest(p_ids) AS i (id)) i
    CROSS JOIN LATERAL (SELECT * FROM duly.live WHERE id = i.id OFFSET 0) l
    UNION ALL SELECT * FROM duly.over WHERE id = ANY (p_ids);
END $$;

-- What a statement that was put together for a filter finds; its values are `$1`, and `$2` is the least id that is looked at. Where little matches, the
-- planner would rather read a whole table than so many rows along its ids, and the least id would bound nothing.
CREATE FUNCTION duly.selected(p_sql text, p_values text[], p_floor text) RETURNS SETOF duly.over LANGUAGE plpgsql STABLE
SET jit = off SET enable_seqscan = off AS $$
BEGIN
  RETURN QUERY EXECUTE p_sql USING p_values, p_floor;
END $$;

-- The same, of which only the states are wanted.
CREATE FUNCTION duly.selected_states(p_sql text, p_values text[], p_floor text)
RETURNS TABLE (id text, status text, due_at bigint, fence bigint, updated_at bigint, dead boolean) LANGUAGE plpgsql STABLE
SET jit = off SET enable_seqscan = off AS $$
BEGIN
  RETURN QUERY EXECUTE p_sql USING p_values, p_floor;
END $$;

-- What can be searched of an error: its name and message. One that holds U+0000 is searched as it is written. Letters are made small by the rules of
-- "C", as SQLite does it: by those of a Turkish database an I would not become an i.
CREATE FUNCTION duly.error_text(p_error text) RETURNS text LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
  RETURN lower(((p_error::json ->> 'name') || ': ' || (p_error::json ->> 'message')) COLLATE "C");
EXCEPTION WHEN OTHERS THEN
  RETURN lower(p_error COLLATE "C");
END $$;

-- Whether a JSON text has a value at a path. jsonb compares best, but refuses what JSON allows. In a list #> also takes "-1", "+1" and "01";
-- here a place has one spelling, so that two paths to one value are equal strings. Other steps that hold a digit are names of fields.
CREATE FUNCTION duly.has_value(p_json text, p_path text[], p_value text) RETURNS boolean LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
  v_step integer;
BEGIN
  IF NOT coalesce(p_json::jsonb #> p_path = p_value::jsonb, false) THEN
    RETURN false;
  END IF;
  FOR v_step IN 1 .. cardinality(p_path) LOOP
    IF p_path[v_step] ~ '[0-9]' AND p_path[v_step] !~ '^(0|[1-9][0-9]{0,8})$'
      AND jsonb_typeof(p_json::jsonb #> p_path[:v_step - 1]) = 'array' THEN
      RETURN false;
    END IF;
  END LOOP;
  RETURN true;
EXCEPTION WHEN OTHERS THEN
  BEGIN
    FOR v_step IN 1 .. cardinality(p_path) LOOP
      IF p_path[v_step] ~ '[0-9]' AND p_path[v_step] !~ '^(0|[1-9][0-9]{0,8})$'
        AND json_typeof(p_json::json #> p_path[:v_step - 1]) = 'array' THEN
        RETURN false;
      END IF;
    END LOOP;
    RETURN coalesce((p_json::json #> p_path)::text = p_value, false);
  EXCEPTION WHEN OTHERS THEN
    RETURN false;
  END;
END $$;
