-- name: lastFence
SELECT value FROM meta WHERE key = 'fence'

-- Read, then written, inside one transaction: RETURNING would cost twice as much.
-- name: setLastFence
UPDATE meta SET value = ? WHERE key = 'fence'

-- name: read
SELECT value FROM meta WHERE key = ?

-- name: write
INSERT INTO meta (key, value) VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value
