-- name: held
SELECT t.now, l.* FROM (SELECT duly.now($1::bigint) AS now) t
LEFT JOIN LATERAL (
  SELECT name, fence, until_at, holder FROM duly.locks
  WHERE name >= $2::text AND ($3::text IS NULL OR name < $3::text) AND name > $4::text AND until_at > t.now
  ORDER BY name LIMIT $5::bigint) l ON true
ORDER BY l.name
