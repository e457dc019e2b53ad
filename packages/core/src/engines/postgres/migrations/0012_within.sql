-- Inside a transaction of the user's own, and beside one.

-- Names this store, so that a transaction of another database that holds a store too is not taken for one of ours.
INSERT INTO duly.meta (key, value) VALUES ('store', floor(random() * 9007199254740991)::bigint) ON CONFLICT DO NOTHING;

-- How long a call waits is said by whoever calls it.
ALTER FUNCTION duly.enqueue_1 RESET lock_timeout;

-- With a dedupe key one may stand behind somebody's open transaction: soon told, and asked again later, so that no connection is held.
-- call: enqueueApart
CREATE FUNCTION duly.enqueue_apart_1(p_now bigint, p_groups jsonb, p_plain jsonb, p_claim jsonb, p_repeat boolean) RETURNS text LANGUAGE plpgsql
SET lock_timeout = '100ms' AS $$
BEGIN
  RETURN duly.enqueue_1(p_now, p_groups, p_plain, p_claim, p_repeat);
END $$;

-- Everything else, also inside the user's transaction. Plain jobs wait for nobody but whoever locks the whole table.
-- call: enqueuePatient
CREATE FUNCTION duly.enqueue_patient_1(p_now bigint, p_groups jsonb, p_plain jsonb, p_claim jsonb, p_repeat boolean) RETURNS text LANGUAGE plpgsql
SET lock_timeout = '2s' AS $$
BEGIN
  RETURN duly.enqueue_1(p_now, p_groups, p_plain, p_claim, p_repeat);
END $$;

-- Records one outcome. A lease that is no longer the caller's fails the whole transaction: what else was done in it must not stay.
-- Serial keys are not locked: others would wait for them until the commit, and so would every other key that shares the lock.
-- call: settleInTransaction
CREATE FUNCTION duly.settle_within_1(p_now bigint, p_settle jsonb) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  v_reply text;
BEGIN
  PERFORM set_config('duly_work.within', '1', true);
  v_reply := duly.exchange_1(p_now, NULL, NULL, NULL, NULL, p_settle, NULL, false);
  PERFORM set_config('duly_work.within', '', true);
  IF json_array_length(v_reply::json -> 'lost') > 0 THEN
    RAISE EXCEPTION USING ERRCODE = 'DU003',
      MESSAGE = format('Job "%s" is no longer held by this attempt, so the transaction that should complete it fails.', p_settle -> 0 ->> 'id'),
      HINT = 'Roll the transaction back and end the handler. The job is, or will be, taken by another worker, unless it is settled already.',
      DETAIL = json_build_object('id', p_settle -> 0 ->> 'id', 'fence', p_settle -> 0 -> 'fence')::text;
  END IF;
  RETURN v_reply;
END $$;
