-- name: takeFences
UPDATE meta SET value = value + ? WHERE key = 'fence' RETURNING value

-- name: read
SELECT value FROM meta WHERE key = ?

-- name: write
INSERT INTO meta (key, value) VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value
