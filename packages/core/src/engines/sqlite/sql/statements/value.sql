-- name: read
SELECT value, expires_at, cleanup_id FROM expirings WHERE name = ? AND key = ?

-- name: put
INSERT INTO expirings (name, key, value, expires_at, cleanup_id) VALUES (?, ?, ?, ?, ?)
ON CONFLICT (name, key) DO UPDATE SET
  value = excluded.value, expires_at = excluded.expires_at, cleanup_id = excluded.cleanup_id

-- name: extend
UPDATE expirings SET expires_at = ? WHERE name = ? AND key = ?

-- name: delete
DELETE FROM expirings WHERE name = ? AND key = ?

-- name: prune
DELETE FROM expirings WHERE (name, key) IN (SELECT name, key FROM expirings WHERE expires_at <= ? LIMIT ? + 0)

-- name: remembered
SELECT value, until_at FROM journal WHERE scope = ? AND key = ?

-- name: remember
INSERT INTO journal (scope, key, value, until_at) VALUES (?, ?, ?, ?)
ON CONFLICT (scope, key) DO UPDATE SET value = excluded.value, until_at = excluded.until_at

-- name: pruneJournal
DELETE FROM journal WHERE (scope, key) IN (
  SELECT scope, key FROM journal WHERE until_at IS NOT NULL AND until_at <= ? LIMIT ? + 0)
