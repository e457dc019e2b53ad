-- Calls that do not pass every parameter of their function. The others are generated from `-- call:` lines in sql/functions.

-- name: keepDays
SELECT duly.keep_days($1::bigint, $2::integer, $3::integer) AS reply
