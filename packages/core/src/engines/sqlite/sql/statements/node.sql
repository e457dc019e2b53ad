-- name: heartbeat
INSERT INTO nodes (id, info, beat_at, beat_steady) VALUES (:id, :info, :now, :steady)
ON CONFLICT (id) DO UPDATE SET info = excluded.info, beat_at = excluded.beat_at, beat_steady = excluded.beat_steady

-- name: leave
DELETE FROM nodes WHERE id = ?

-- name: drain
UPDATE nodes SET drain_requested_at = coalesce(drain_requested_at, ?) WHERE id = ?

-- name: forget
DELETE FROM nodes WHERE beat_steady < ?

-- name: list
SELECT info, beat_at AS heartbeatAt, beat_steady AS steady, drain_requested_at AS drainRequestedAt FROM nodes ORDER BY id
