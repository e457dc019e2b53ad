-- name: pruned
SELECT value FROM duly.meta WHERE key = 'pruned_created_at'

-- As the function note_pruned does, for a store that may not have the function set of this code.
-- name: notePruned
INSERT INTO duly.meta AS m (key, value) VALUES ('pruned_created_at', $1::bigint)
ON CONFLICT (key) DO UPDATE SET value = greatest(m.value, excluded.value)
