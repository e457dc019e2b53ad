import assert from 'node:assert/strict';
import { test } from 'node:test';
import { propertySeed, runFactor } from '../../../../../test/property.ts';
import { playCase } from './plan-world.ts';

// Any number of others: npm run plan-model -- --cases N --seed S
const caseCount = 2_000 * runFactor;
const firstSeed = propertySeed;

test(`the planner decides ${caseCount} random lives from seed ${firstSeed} like the slow model`, () => {
  let slotCount = 0;
  for (let i = 0; i < caseCount; i++) slotCount += playCase(firstSeed + i);
  assert.ok(slotCount > 10 * caseCount, `the plays decide too few slots to mean much: ${slotCount}`);
});
