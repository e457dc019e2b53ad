// `npm run plan-model -- --cases N --seed S`: plays N random lives of schedules, by the planner and by its slow model, from seed S on.

import { parseArgs } from 'node:util';
import { playCase } from '../packages/core/test/schedules/planner/plan-world.ts';

const { values } = parseArgs({
  options: {
    cases: { type: 'string', default: '100000' },
    seed: { type: 'string', default: '1' },
    help: { type: 'boolean', short: 'h', default: false },
  },
});
const usage = 'Usage: npm run plan-model -- --cases <count, default 100000> --seed <first seed, default 1>';
if (values.help) {
  console.log(usage);
  process.exit(0);
}
const caseCount = Number(values.cases);
const firstSeed = Number(values.seed);
if (!Number.isInteger(caseCount) || caseCount < 1 || !Number.isInteger(firstSeed)) {
  console.error(usage);
  process.exit(2);
}

let slotCount = 0;
for (let i = 0; i < caseCount; i++) {
  try {
    slotCount += playCase(firstSeed + i);
  } catch (error) {
    console.error(error instanceof Error ? error.message : error);
    process.exit(1);
  }
}
console.log(`${caseCount} cases from seed ${firstSeed}: ${slotCount} slots decided alike.`);
