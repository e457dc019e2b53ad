-- name: read
SELECT fence, until, token, holder FROM locks WHERE name = ?

-- name: take
INSERT INTO locks (name, fence, until, token, holder) VALUES (:name, :fence, :until, :token, :holder)
ON CONFLICT (name) DO UPDATE SET
  fence = excluded.fence, until = excluded.until, token = excluded.token, holder = excluded.holder

-- name: renew
UPDATE locks SET until = ? WHERE name = ? AND fence = ?

-- name: release
DELETE FROM locks WHERE name = ? AND fence = ?

-- name: heldBetween
SELECT name, fence, until, holder FROM locks
WHERE name >= :prefix AND name < :end AND name > :after AND until > :steady ORDER BY name LIMIT :limit + 0

-- name: heldFrom
SELECT name, fence, until, holder FROM locks
WHERE name >= :prefix AND name > :after AND until > :steady ORDER BY name LIMIT :limit + 0

-- name: prune
DELETE FROM locks WHERE name IN (SELECT name FROM locks WHERE until < ? LIMIT ? + 0)
