-- Jobs as readers see them, live and over, with the same columns.

CREATE VIEW duly.live AS
SELECT {{job.columns -rankOffsetMs | j.%column | ,
    | fence=coalesce(l.fence, j.fence) AS fence
    | begunAt=CASE WHEN l.id IS NULL THEN j.begun_at ELSE l.begun_at END AS begun_at
    | updatedAt=greatest(j.updated_at, l.reported_at) AS updated_at
    | finishedAt=NULL::bigint AS finished_at
    | percent=CASE WHEN l.id IS NULL THEN j.percent ELSE l.percent END AS percent
    | message=CASE WHEN l.id IS NULL THEN j.message ELSE l.message END AS message
    | step=CASE WHEN l.id IS NULL THEN j.step ELSE l.step END AS step
    | stepOf=CASE WHEN l.id IS NULL THEN j.step_of ELSE l.step_of END AS step_of
    | result=NULL::text AS result}},
  j.seq, false AS dead, l.until_at AS lease_until, j.slot_at, j.slot_details,
  CASE WHEN j.status = 'BLOCKED' THEN (
    SELECT json_agg(json_build_object('kind', g.kind, 'ref', g.ref) ORDER BY g.kind, g.ref) FROM duly.gates g WHERE g.job = j.id) END AS gates
FROM duly.jobs j LEFT JOIN duly.leases l ON l.id = j.id;

CREATE VIEW duly.over AS
SELECT {{job.columns -rankOffsetMs}},
  seq, true AS dead, NULL::bigint AS lease_until, slot_at, slot_details, NULL::json AS gates
FROM duly.dead
UNION ALL
SELECT {{job.columns -rankOffsetMs}},
  seq, false AS dead, NULL::bigint AS lease_until, slot_at, slot_details, NULL::json AS gates
FROM duly.finished;
