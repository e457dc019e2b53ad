-- Verbs that write: one call of one function of the schema, whose reply is JSON as text.

-- name: enqueueApart
SELECT duly.enqueue_apart_1($1::bigint, $2::jsonb, $3::jsonb, $4::jsonb, $5::boolean) AS reply

-- name: enqueueInTransaction
SELECT duly.enqueue_patient_1($1::bigint, $2::jsonb, $3::jsonb, NULL, $4::boolean) AS reply

-- name: enqueuePatient
SELECT duly.enqueue_patient_1($1::bigint, $2::jsonb, $3::jsonb, $4::jsonb, $5::boolean) AS reply

-- name: settleInTransaction
SELECT duly.settle_within_1($1::bigint, $2::jsonb) AS reply

-- name: enqueueAlike
SELECT duly.enqueue_alike_1($1::bigint, $2::text[], $3::text[], $4::jsonb, $5::jsonb) AS reply

-- name: exchange
SELECT duly.exchange_1($1::bigint, $2::text[], $3::bigint[], $4::text[], $5::bigint[], $6::jsonb, $7::jsonb, $8::boolean) AS reply

-- name: claimAlone
SELECT duly.claim_alone_1($1::bigint, $2::text[], $3::integer[], $4::integer[], $5::text[], $6::integer, $7::text, $8::text, $9::bigint,
  $10::text) AS reply

-- name: heartbeat
SELECT duly.heartbeat_1($1::bigint, $2::bigint, $3::jsonb) AS reply

-- name: reap
SELECT duly.reap_1($1::bigint, $2::bigint, $3::integer, $4::bigint) AS reply

-- name: report
SELECT duly.report_1($1::bigint, $2::jsonb, $3::bigint) AS reply

-- name: cancel
SELECT duly.cancel_1($1::bigint, $2::jsonb) AS reply

-- name: reschedule
SELECT duly.reschedule_1($1::bigint, $2::jsonb) AS reply

-- name: retry
SELECT duly.replay_1($1::bigint, $2::jsonb) AS reply

-- name: change
SELECT duly.change_1($1::bigint, $2::jsonb, $3::text, $4::text, $5::text, $6::boolean) AS reply

-- name: applySchedules
SELECT duly.apply_schedules_1($1::bigint, $2::jsonb) AS reply

-- name: claimSchedules
SELECT duly.claim_schedules_1($1::bigint, $2::text, $3::text, $4::integer, $5::bigint, $6::jsonb) AS reply

-- name: fire
SELECT duly.fire_1($1::bigint, $2::text, $3::bigint, $4::text[], $5::bigint[], $6::text[], $7::bigint[], $8::integer[], $9::jsonb, $10::text[],
  $11::bigint[], $12::bigint[], $13::text[], $14::text[], $15::bigint[], $16::text[], $17::text[], $18::jsonb, $19::bigint[], $20::jsonb,
  $21::text[]) AS reply

-- name: acquire
SELECT duly.acquire_1($1::bigint, $2::text, $3::text, $4::text, $5::bigint) AS reply

-- name: keepLocks
SELECT duly.keep_locks_1($1::bigint, $2::jsonb, $3::bigint) AS reply

-- name: putExpiring
SELECT duly.put_expiring_1($1::bigint, $2::jsonb) AS reply

-- name: remember
SELECT duly.remember_1($1::bigint, $2::text, $3::text, $4::jsonb) AS reply

-- name: nodes
SELECT duly.nodes_1($1::bigint, $2::text, $3::text, $4::text, $5::text, $6::text, $7::bigint) AS reply

-- name: records
SELECT duly.records_1($1::bigint, $2::jsonb) AS reply

-- name: changes
SELECT duly.changes_1($1::bigint, $2::bigint, $3::integer) AS reply

-- name: prune
SELECT duly.prune_1($1::bigint, $2::integer, $3::bigint, $4::jsonb, $5::bigint, $6::bigint) AS reply

-- name: keepDays
SELECT duly.keep_days_1($1::bigint, $2::integer, $3::integer) AS reply
