-- name: append
INSERT INTO changes (at, entries) VALUES (?, ?)

-- name: after
SELECT position, at, entries FROM changes WHERE position >= ? ORDER BY position LIMIT ? + 0

-- The highest number ever given: the table may be empty after a prune. It is named all the same, so that a fenced store refuses.
-- name: lastEver
SELECT coalesce(max(seq), 0) AS position FROM sqlite_sequence WHERE name = 'changes' AND (SELECT 1 FROM changes WHERE position = 0) IS NULL

-- name: first
SELECT coalesce(min(position), 0) AS position FROM changes

-- Positions and instants grow together, so only the oldest rows are looked at.
-- name: prune
DELETE FROM changes WHERE position <= (
  SELECT max(position) FROM (SELECT position, at FROM changes ORDER BY position LIMIT :limit + 0) WHERE at < :before)
