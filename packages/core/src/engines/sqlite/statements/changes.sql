-- name: append
INSERT INTO changes (at, entries) VALUES (?, ?)

-- name: after
SELECT position, at, entries FROM changes WHERE position >= ? ORDER BY position LIMIT ?

-- name: last
SELECT coalesce(max(position), 0) AS position FROM changes

-- The highest number ever given: the table may be empty after a prune.
-- name: lastEver
SELECT coalesce(max(seq), 0) AS position FROM sqlite_sequence WHERE name = 'changes'

-- name: first
SELECT coalesce(min(position), 0) AS position FROM changes

-- name: prune
DELETE FROM changes WHERE position IN (SELECT position FROM changes WHERE at < ? ORDER BY position LIMIT ?)
