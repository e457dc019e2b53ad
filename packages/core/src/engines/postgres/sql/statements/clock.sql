-- The server's clock, also where there is no schema yet.
-- name: now
SELECT floor(extract(epoch FROM statement_timestamp()) * 1000)::bigint AS now
