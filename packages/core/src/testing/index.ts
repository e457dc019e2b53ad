export { createManualClock, type ManualClock } from './manual-clock.ts';
export { createTestDuly, type Ran, TestDuly, type TestDulyOptions } from './test-duly.ts';
