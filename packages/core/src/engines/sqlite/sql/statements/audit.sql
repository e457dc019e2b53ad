-- name: append
INSERT INTO audit (at, actor, action, subject, before, after, note) VALUES (?, ?, ?, ?, ?, ?, ?)

-- name: list
SELECT position, at, actor, action, subject, before, after, note FROM audit
WHERE position < ? ORDER BY position DESC LIMIT ? + 0

-- name: listSubject
SELECT position, at, actor, action, subject, before, after, note FROM audit
WHERE subject = ? AND position < ? ORDER BY position DESC LIMIT ? + 0

-- name: prune
DELETE FROM audit WHERE position <= (
  SELECT max(position) FROM (SELECT position, at FROM audit ORDER BY position LIMIT :limit + 0) WHERE at < :before)
