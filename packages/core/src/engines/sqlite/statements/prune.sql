-- name: jobs
SELECT id FROM finished INDEXED BY finished_prune WHERE prune_at <= ? ORDER BY prune_at LIMIT ?
