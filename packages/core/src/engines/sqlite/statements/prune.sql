-- name: jobs
SELECT id, created_at AS madeAt FROM finished INDEXED BY finished_prune WHERE prune_at <= ? ORDER BY prune_at LIMIT ? + 0

-- name: remember
INSERT INTO meta (key, value) VALUES ('pruned_made_at', ?)
ON CONFLICT (key) DO UPDATE SET value = max(value, excluded.value)
