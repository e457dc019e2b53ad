-- Calls that do not pass every parameter of their function. The others are generated from `-- call:` lines in sql/functions.

-- name: enqueueInTransaction
SELECT duly.enqueue_waiting($1::bigint, $2::jsonb, $3::jsonb, NULL, $4::boolean) AS reply

-- name: keepDays
SELECT duly.keep_days($1::bigint, $2::integer, $3::integer) AS reply
