import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createTestDuly } from '@duly/core/testing';
import fc from 'fast-check';
import { cases } from '../../../test/property.ts';
import { readSlotRule, type SlotRule, slotOf } from '../src/exec/exec-slot.ts';

const at = (text: string): number => Date.parse(text);
const slotText = (rule: SlotRule, now: string): string =>
  new Date(slotOf(rule, at(now)).slotAt as number).toISOString();

test('arrivals 2 s either side of midnight are the same slot of a cron, in its own zone', () => {
  for (const [timezone, before, after, slot] of [
    ['UTC', '2027-01-14T23:59:58Z', '2027-01-15T00:00:02Z', '2027-01-15T00:00:00.000Z'],
    ['Asia/Kolkata', '2027-01-14T18:29:58Z', '2027-01-14T18:30:02Z', '2027-01-14T18:30:00.000Z'],
    // Midnight of the day whose clock is set forward.
    ['Europe/Rome', '2027-03-27T22:59:58Z', '2027-03-27T23:00:02Z', '2027-03-27T23:00:00.000Z'],
  ] as const) {
    const rule = readSlotRule('0 0 * * *', timezone) as SlotRule;
    assert.equal(slotText(rule, before), slot);
    assert.equal(slotText(rule, after), slot);
    assert.deepEqual(slotOf(rule, at(before)).dedupe, slotOf(rule, at(after)).dedupe);
    assert.equal(slotOf(rule, at(after)).doubt, null);
  }
});

test('a slot is a duration however it is written, and else a cron', () => {
  for (const text of ['1d', '1 day', ' 24 hours ', 'PT24H', '23h 60m']) {
    assert.deepEqual(readSlotRule(text, undefined), { kind: 'length', lengthMs: 86_400_000 }, text);
  }
  for (const text of ['@daily', '0 2 * * *', '0 0 2 * * *'])
    assert.equal(readSlotRule(text, 'UTC')?.kind, 'cron', text);
  assert.throws(() => readSlotRule('1 day ago', undefined), { code: 'invalid_cron' });
  assert.throws(() => readSlotRule('often', undefined), { code: 'invalid_duration' });
  assert.throws(() => readSlotRule('1 day', 'UTC'), { code: 'usage' });
});

test('the slot of an arrival is the nearest instant of the cron', () => {
  fc.assert(
    fc.property(
      fc.constantFrom('0 0 * * *', '*/15 * * * *', '0 9 * * MON-FRI', '30 2 29 2 *', '@hourly', '0 2 * * *'),
      fc.constantFrom('UTC', 'Europe/Rome', 'America/New_York', 'Pacific/Auckland'),
      fc.integer({ min: at('2026-01-01T00:00:00Z'), max: at('2029-01-01T00:00:00Z') }),
      (cron, timezone, now) => {
        const rule = readSlotRule(cron, timezone) as SlotRule;
        const { slotAt, dedupe } = slotOf(rule, now);
        const distanceMs = Math.abs((slotAt as number) - now);
        // Seen from the slot itself it is the same one, and whoever is nearer to it means it too.
        assert.equal(slotOf(rule, slotAt as number).slotAt, slotAt);
        const nearer = now + Math.trunc(((slotAt as number) - now) / 2);
        assert.equal(slotOf(rule, nearer).slotAt, slotAt);
        assert.ok(distanceMs < (dedupe.for as number));
      },
    ),
    cases(300),
  );
});

test('an arrival half way between two instants is told of', () => {
  const rule = readSlotRule('0 2 * * *', 'UTC') as SlotRule;
  assert.match(
    slotOf(rule, at('2027-01-15T13:59:00Z')).doubt ?? '',
    /^It is 11 h 59 min from the nearest instant of "0 2 \* \* \*" in UTC/,
  );
  assert.equal(slotOf(rule, at('2027-01-15T03:00:00Z')).doubt, null);
});

test('without a grid a second start is refused for half the length of the slot, across midnight too', async () => {
  const duly = createTestDuly({ start: '2027-01-14T23:59:58Z' });
  const task = duly.task({ name: 'exec:digest', run: () => 'sent' });
  const arrive = async (): Promise<boolean> => {
    const rule = readSlotRule('1d', undefined) as SlotRule;
    const { dedupe } = slotOf(rule, (await duly.storeNow()).getTime());
    return !(await task.now({}, { dedupe })).deduped;
  };
  assert.equal(await arrive(), true);
  await duly.advance('4s');
  assert.equal(await arrive(), false, 'the same slot, on the next day');
  await duly.advance('11h');
  assert.equal(await arrive(), false);
  await duly.advanceTo('2027-01-15T23:59:50Z');
  assert.equal(await arrive(), true, 'the next one, though it is 8 s earlier');
  await duly.stop();
});

test('what is no slot is refused', () => {
  assert.equal(readSlotRule(undefined, undefined), null);
  assert.throws(() => readSlotRule('1d', 'UTC'), { code: 'usage' });
  assert.throws(() => readSlotRule(undefined, 'UTC'), { code: 'usage' });
  assert.throws(() => readSlotRule('soon', undefined), { code: 'invalid_duration' });
  assert.throws(() => readSlotRule('999ms', undefined), { code: 'invalid_duration' });
  assert.throws(() => readSlotRule('99 0 * * *', undefined), { code: 'invalid_cron' });
  assert.throws(() => readSlotRule('0 0 * * *', 'Europe/Room'), { code: 'invalid_timezone' });
  const { timezone } = readSlotRule('@daily', undefined) as { timezone: string };
  assert.equal(timezone, Intl.DateTimeFormat().resolvedOptions().timeZone);
});
