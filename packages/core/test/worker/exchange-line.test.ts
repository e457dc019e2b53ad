import assert from 'node:assert/strict';
import { test } from 'node:test';
import { dulyError } from '../../src/base/errors.ts';
import type { ClaimRequest, ExchangeInput, ExchangeReply, Settlement } from '../../src/contract/engine.ts';
import { createManualClock } from '../../src/testing/manual-clock.ts';
import { createExchangeLine, type Exchange } from '../../src/worker/exchange-line.ts';
import { claimedJob } from './claimed-job.ts';
import { deferred } from './setup.ts';

const away = () => dulyError('store_unavailable', { message: 'no reply', hint: '-' });
const full = () => dulyError('store_full', { message: 'no space', hint: '-' });
const refusal = () => dulyError('internal', { message: 'refused' });

function exchangeOf(name: string): Exchange {
  const settlement = { id: name } as Settlement;
  const settle = [{ job: claimedJob({ id: name }), settlement, decidedElapsed: 0 }];
  const claim = { token: name } as ClaimRequest;
  return { batch: { settle, isIsolated: false }, claim, isRepeated: false, isInternal: false };
}

/** A line to a store that answers, fails or stays silent, as the test says for each exchange. */
function setup() {
  const clock = createManualClock();
  const notes: string[] = [];
  const inputs: ExchangeInput[] = [];
  const answers: ((reply: Error | null) => void)[] = [];
  const nameOf = ({ claim }: { claim: ClaimRequest | null }) => claim?.token;
  const line = createExchangeLine({
    clock,
    engine: {
      exchange(input) {
        inputs.push(input);
        const { promise, resolve, reject } = deferred<ExchangeReply>();
        answers.push((error) => (error === null ? resolve({ now: 1 } as ExchangeReply) : reject(error)));
        return promise;
      },
    },
    onSend: (elapsed) => notes.push(`send at ${elapsed}, ${line.isSending()}`),
    onReply(exchange, { now }, sentElapsed) {
      notes.push(`reply ${now} to ${nameOf(exchange)} of ${sentElapsed}, ${line.isSending()}`);
      return 123;
    },
    onRefused: (exchange) => notes.push(`refused ${nameOf(exchange)}`),
    onNothing: () => 456,
  });
  const never = (): never => assert.fail('nothing new may be composed');
  const unrecorded = () => line.unrecorded().map(({ settlement }) => settlement.id);
  return { clock, line, notes, inputs, answers, never, unrecorded };
}

test('an exchange is sent, and the pass ends with what its reply leads to', async () => {
  const { clock, line, notes, inputs, answers, unrecorded } = setup();
  clock.jump(50);
  const pass = line.pass(() => exchangeOf('one'));
  assert.deepEqual([line.isSending(), line.sentElapsed(), unrecorded()], [true, 50, ['one']]);
  assert.deepEqual(inputs, [{ settle: [{ id: 'one' }], claim: { token: 'one' } }]);
  clock.jump(20);
  answers[0]?.(null);
  assert.equal(await pass, 123);
  assert.deepEqual(notes, ['send at 50, true', 'reply 1 to one of 50, false']);
  assert.deepEqual([line.isSending(), line.mustRepeat(), unrecorded()], [false, false, []]);
});

test('an exchange with a store that serves newer code only is repeated, and no outcome is refused', async () => {
  const { line, notes, answers, unrecorded } = setup();
  const pass = line.pass(() => exchangeOf('one'));
  answers[0]?.(dulyError('schema_too_new', { message: 'newer', hint: '-' }));
  await assert.rejects(pass, { code: 'schema_too_new' });
  assert.deepEqual([line.mustRepeat(), unrecorded()], [true, ['one']]);
  assert.deepEqual(notes, ['send at 0, true']);
});

test('without anything to send the store is not asked', async () => {
  const { line, inputs, notes } = setup();
  assert.equal(await line.pass(() => null), 456);
  assert.deepEqual([inputs, notes, line.isSending()], [[], [], false]);
});

test('an exchange whose reply was lost is repeated as it was, until it has its answer, before any other', async () => {
  const { clock, line, notes, inputs, answers, never, unrecorded } = setup();
  const first = line.pass(() => exchangeOf('one'));
  answers[0]?.(away());
  await assert.rejects(first, { code: 'store_unavailable' });
  assert.deepEqual([line.isSending(), line.mustRepeat(), unrecorded()], [false, true, ['one']]);
  clock.jump(100);
  const second = line.pass(never);
  assert.deepEqual([line.isSending(), line.sentElapsed()], [true, 100]);
  answers[1]?.(full());
  await assert.rejects(second, { code: 'store_full' });
  const third = line.pass(never);
  answers[2]?.(null);
  assert.equal(await third, 123);
  const sent = { settle: [{ id: 'one' }], claim: { token: 'one' } };
  assert.deepEqual(inputs, [sent, { ...sent, repeat: true }, { ...sent, repeat: true }]);
  assert.equal(notes.at(-1), 'reply 1 to one of 100, false');
  void line.pass(() => exchangeOf('two'));
  assert.deepEqual(inputs[3], { settle: [{ id: 'two' }], claim: { token: 'two' } });
});

test('an exchange that the store refuses is not repeated, whether or not it was repeated before', async () => {
  const { line, notes, inputs, answers, never, unrecorded } = setup();
  const first = line.pass(() => exchangeOf('one'));
  answers[0]?.(refusal());
  await assert.rejects(first, { code: 'internal' });
  assert.deepEqual(notes.slice(1), ['refused one']);
  assert.deepEqual([line.isSending(), line.mustRepeat(), unrecorded()], [false, false, []]);
  const second = line.pass(() => exchangeOf('two'));
  answers[1]?.(away());
  await assert.rejects(second);
  assert.equal(notes.includes('refused two'), false);
  const third = line.pass(never);
  answers[2]?.(refusal());
  await assert.rejects(third);
  assert.equal(notes.at(-1), 'refused two');
  assert.equal(line.mustRepeat(), false);
  assert.equal(inputs.length, 3);
});

test('while the store is silent the exchange counts as sent', async () => {
  const { clock, line, unrecorded } = setup();
  let isOver = false;
  void line
    .pass(() => exchangeOf('one'))
    .finally(() => {
      isOver = true;
    });
  await clock.advance(3_600_000);
  assert.deepEqual(
    [isOver, line.isSending(), line.mustRepeat(), unrecorded()],
    [false, true, false, ['one']],
  );
});

test('a repeated claim stays one: its exchange says so from the start', () => {
  const { line, inputs } = setup();
  void line.pass(() => ({ ...exchangeOf('one'), isRepeated: true }));
  assert.equal(inputs[0]?.repeat, true);
});
