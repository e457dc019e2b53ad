-- name: read
SELECT kind, key, value, version, updated_at AS updatedAt FROM records WHERE kind = ? AND key = ?

-- name: list
SELECT kind, key, value, version, updated_at AS updatedAt FROM records WHERE kind = ? AND key > ? ORDER BY key LIMIT ? + 0

-- Versions go on from an earlier life of the key as far as the caller can tell: they never repeat within one.
-- name: put
INSERT INTO records (kind, key, value, version, updated_at) VALUES (?, ?, ?, 1, ?)
ON CONFLICT (kind, key) DO UPDATE SET value = excluded.value, version = version + 1, updated_at = excluded.updated_at

-- name: delete
DELETE FROM records WHERE kind = ? AND key = ?
