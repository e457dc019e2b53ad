-- name: heartbeat
INSERT INTO nodes (id, info, heartbeat_at, heartbeat_steady) VALUES (:id, :info, :now, :steady)
ON CONFLICT (id) DO UPDATE SET info = excluded.info, heartbeat_at = excluded.heartbeat_at, heartbeat_steady = excluded.heartbeat_steady

-- name: leave
DELETE FROM nodes WHERE id = ?

-- name: drain
UPDATE nodes SET drain_requested_at = coalesce(drain_requested_at, ?) WHERE id = ?

-- name: forget
DELETE FROM nodes WHERE heartbeat_steady < ?

-- name: list
SELECT info, heartbeat_at AS heartbeatAt, heartbeat_steady AS steady, drain_requested_at AS drainRequestedAt FROM nodes ORDER BY id
