import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { cases } from '../../../../test/property.ts';
import { type AlertState, nextState, quietState } from '../../src/alerts/alert-state.ts';
import { isMuted, type MaintenanceWindow } from '../../src/alerts/maintenance.ts';

const rule = { id: 'r', forMs: 0 };
const finding = { subject: 's', message: 'It is so.' };

/** Plays looks one after the other: `1` found, `0` not found, in capitals `M`/`m` the same while muted. Tells the events of each. */
function play(looks: string, forMs = 0): string[] {
  let state: AlertState = quietState;
  return [...looks].map((look, i) => {
    state = nextState({
      rule: { id: 'r', forMs },
      state: { ...state, outbox: [] },
      findings: look === '1' || look === 'M' ? [finding] : [],
      now: i * 1_000,
      isMuted: look === 'M' || look === 'm',
    });
    return state.outbox.map(({ event }) => event).join();
  });
}

test('one notice when it fires, one when it resolves, none in between', () => {
  assert.deepEqual(play('0111100'), ['', 'fired', '', '', '', 'resolved', '']);
  assert.deepEqual(play('1010'), ['fired', 'resolved', 'fired', 'resolved']);
});

test('a condition has to hold for as long as the rule says', () => {
  assert.deepEqual(play('11111', 2_000), ['', '', 'fired', '', '']);
  assert.deepEqual(play('11011', 2_000), ['', '', '', '', '']);
});

test('a window mutes, and what still holds at its end is told then', () => {
  assert.deepEqual(play('MMM11'), ['', '', '', 'fired', '']);
  assert.deepEqual(play('MMm00'), ['', '', '', '', ''], 'it came and went inside: nobody hears of it');
  assert.deepEqual(play('1MM0'), ['fired', '', '', 'resolved']);
  assert.deepEqual(play('1mm0'), ['fired', '', '', 'resolved'], 'told to be over once the window is');
  assert.deepEqual(
    play('1mM1'),
    ['fired', '', '', ''],
    'it came back inside: for those who were told it never went',
  );
});

test('what fired and resolved is always told in turns, whatever happens', () => {
  fc.assert(
    fc.property(
      fc.array(fc.constantFrom('0', '1', 'm', 'M'), { maxLength: 40 }),
      fc.integer({ min: 0, max: 3 }),
      (looks, seconds) => {
        const events = play(looks.join(''), seconds * 1_000).filter((event) => event !== '');
        events.forEach((event, i) => {
          assert.equal(event, i % 2 === 0 ? 'fired' : 'resolved');
        });
        // After enough looks without it and without a window, everybody knows that it is over.
        const after = play(`${looks.join('')}00`, seconds * 1_000).filter((event) => event !== '');
        assert.equal(after.length % 2, 0);
      },
    ),
    cases(100),
  );
});

test('a notice of the same news has the same id, and the outbox keeps it until it is handed over', () => {
  const first = nextState({ rule, state: quietState, findings: [finding], now: 5, isMuted: false });
  assert.deepEqual(
    first.outbox.map(({ id }) => id),
    ['r/s/5/fired'],
  );
  const second = nextState({ rule, state: first, findings: [finding], now: 6, isMuted: false });
  assert.equal(second, first, 'nothing changed, nothing to write');
  const third = nextState({ rule, state: first, findings: [], now: 7, isMuted: false });
  assert.deepEqual(
    third.outbox.map(({ id }) => id),
    ['r/s/5/fired', 'r/s/5/resolved'],
  );
});

test('subjects stand for themselves, and their number is bounded', () => {
  const findings = Array.from({ length: 80 }, (_, i) => ({
    subject: `s${String(i).padStart(2, '0')}`,
    message: 'It is so.',
  }));
  const first = nextState({ rule, state: quietState, findings, now: 0, isMuted: false });
  assert.equal(first.outbox.length, 50);
  // Those that are known stay known, also when they no longer come first.
  const second = nextState({
    rule,
    state: { ...first, outbox: [] },
    findings: findings.toReversed(),
    now: 1,
    isMuted: false,
  });
  assert.equal(second.outbox.length, 0);
});

test('windows open once or by the calendar, for all rules or for some', () => {
  const at = (text: string): number => Date.parse(text);
  const once: MaintenanceWindow = {
    id: 'w',
    note: null,
    rules: ['r'],
    when: { fromAt: at('2027-01-15T10:00Z'), untilAt: at('2027-01-15T11:00Z') },
  };
  assert.equal(isMuted([once], 'r', at('2027-01-15T10:00Z')), true);
  assert.equal(isMuted([once], 'r', at('2027-01-15T09:59:59Z')), false);
  assert.equal(isMuted([once], 'r', at('2027-01-15T11:00Z')), false);
  assert.equal(isMuted([once], 'other', at('2027-01-15T10:30Z')), false);
  const weekly: MaintenanceWindow = {
    id: 'v',
    note: null,
    rules: null,
    when: { cron: '0 2 * * SUN', timezone: 'Europe/Rome', durationMs: 7_200_000 },
  };
  assert.equal(isMuted([weekly], 'r', at('2027-01-17T01:00:00Z')), true);
  assert.equal(isMuted([weekly], 'r', at('2027-01-17T02:59:59Z')), true);
  assert.equal(isMuted([weekly], 'r', at('2027-01-17T03:00:00Z')), false);
  assert.equal(isMuted([weekly], 'r', at('2027-01-17T00:59:59Z')), false);
});
