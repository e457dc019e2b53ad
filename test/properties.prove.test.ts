// The property tests of `npm test` once more, with ten times as many cases.

process.env['DULY_TEST_RUNS'] ??= '10';

await import('../packages/core/test/duration.test.ts');
await import('../packages/core/test/ids.test.ts');
await import('../packages/core/test/instant.test.ts');
await import('../packages/core/test/json.test.ts');
await import('../packages/core/test/nearest.test.ts');
await import('../packages/core/test/retry.test.ts');
await import('../packages/core/test/schedule/cron-next.test.ts');
await import('../packages/core/test/schedule/dst.test.ts');
await import('../packages/core/test/schedule/exclude.test.ts');
await import('../packages/core/test/schedule/plan-model.test.ts');
await import('../packages/core/test/schedule/rrule-clock.test.ts');
await import('../packages/core/test/schedule/rrule-days.test.ts');
await import('../packages/core/test/scheduler/spec-reader.test.ts');
await import('../packages/core/test/store-thread/packed.test.ts');
await import('../packages/duly/test/exec-slot.test.ts');
await import('../packages/duly/test/export.test.ts');
await import('../packages/duly/test/import-crontab.test.ts');
await import('../packages/server/test/alerts/alert-state.test.ts');
