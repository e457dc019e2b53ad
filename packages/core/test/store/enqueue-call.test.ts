import assert from 'node:assert/strict';
import { test } from 'node:test';
import { claimRequest, jobSpec } from '@duly/conformance/builders';
import { dulyError } from '../../src/base/errors.ts';
import type { ClaimedJob, ClaimRequest, EnqueueInput, EnqueueReply } from '../../src/contract/engine.ts';
import { createEnqueueCall } from '../../src/store/enqueue-call.ts';

const due = [jobSpec({ due: { inMs: 0 } })];
const later = [jobSpec({ due: { inMs: 1_000 } })];
const job = { id: 'job_1' } as ClaimedJob;
const refusal = { ok: false as const, error: { code: 'x', message: 'refused' } };

/** A call to a store that grants `claimed`, or fails, as the test says; with a worker that has capacity once. */
function setup() {
  const inputs: EnqueueInput[] = [];
  const received: [limit: number, claimed: unknown][] = [];
  const state = { claimed: [] as ClaimedJob[], isAway: false };
  const requests: ClaimRequest[] = [claimRequest({ token: 'first', limit: 5 })];
  const call = createEnqueueCall(
    {
      async enqueue(input) {
        inputs.push(input);
        if (state.isAway) throw dulyError('store_unavailable', { message: 'no reply' });
        return { now: 7, groups: input.groups.map(() => refusal), claimed: state.claimed } as EnqueueReply;
      },
    },
    () => ({
      request: () => requests.shift() ?? null,
      receive: ({ limit }, claimed) => void received.push([limit, claimed]),
    }),
  );
  return { call, inputs, received, requests, state };
}

test('each group is answered with the instant of the reply, and the worker gets what its claim brought', async () => {
  const { call, inputs, received, state } = setup();
  state.claimed = [job];
  assert.deepEqual(await call.send([later, due], { repeat: false }), [
    { ...refusal, now: 7 },
    { ...refusal, now: 7 },
  ]);
  assert.deepEqual([inputs[0]?.claim?.token, inputs[0]?.repeat], ['first', undefined]);
  assert.deepEqual(received, [[5, [job]]]);
});

test('without a job that is due now nothing is claimed', async () => {
  const { call, inputs, received, requests } = setup();
  await call.send([later], { repeat: false });
  assert.deepEqual([inputs[0]?.claim, received, requests.length], [undefined, [], 1]);
});

test('a repeated call repeats the claim of the first, which has no capacity reserved any more', async () => {
  const { call, inputs, received, state } = setup();
  const groups = [due];
  state.isAway = true;
  await assert.rejects(call.send(groups, { repeat: false }), { code: 'store_unavailable' });
  assert.deepEqual(received, [[5, []]]);
  Object.assign(state, { isAway: false, claimed: [job] });
  await call.send(groups, { repeat: true });
  assert.deepEqual([inputs[1]?.claim?.token, inputs[1]?.repeat], ['first', true]);
  assert.deepEqual(received[1], [0, [job]]);
});

test('a call that is given up asks its worker for leases, if it carried a claim', async () => {
  const { call, received, state } = setup();
  const groups = [due];
  state.isAway = true;
  await assert.rejects(call.send(groups, { repeat: false }));
  const others = [later];
  await assert.rejects(call.send(others, { repeat: false }));
  call.giveUp(others);
  call.giveUp(groups);
  assert.deepEqual(received, [
    [5, []],
    [0, 'unknown'],
  ]);
});
