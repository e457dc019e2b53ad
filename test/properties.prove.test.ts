// The property tests of `npm test` once more, with ten times as many cases.

process.env['DULY_TEST_RUNS'] ??= '10';

await import('../packages/core/test/base/duration.test.ts');
await import('../packages/core/test/base/ids.test.ts');
await import('../packages/core/test/base/instant.test.ts');
await import('../packages/core/test/base/json.test.ts');
await import('../packages/core/test/base/nearest.test.ts');
await import('../packages/core/test/lifecycle/retry.test.ts');
await import('../packages/core/test/schedules/calendar/cron-next.test.ts');
await import('../packages/core/test/schedules/calendar/dst.test.ts');
await import('../packages/core/test/schedules/calendar/exclude.test.ts');
await import('../packages/core/test/schedules/planner/plan-model.test.ts');
await import('../packages/core/test/schedules/calendar/rrule-clock.test.ts');
await import('../packages/core/test/schedules/calendar/rrule-days.test.ts');
await import('../packages/core/test/schedules/definition/spec-reader.test.ts');
await import('../packages/core/test/store/thread/packed.test.ts');
await import('../packages/duly/test/exec-slot.test.ts');
await import('../packages/duly/test/export.test.ts');
await import('../packages/duly/test/import-crontab.test.ts');
await import('../packages/server/test/alerts/alert-state.test.ts');
