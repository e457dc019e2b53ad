import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { startServer } from '../fixture.ts';
import { startReceiver } from '../receiver.ts';

const secret = '4111-1111-1111-1111';
const input = { card: { number: secret }, user: 1 };

async function setup(t: TestContext, redactInput: string[] = ['card.number']) {
  return startServer(t, {
    start: true,
    tasks: [{ name: 'pay', retry: 1, run: () => 'done' }],
    server: { redact: { input: redactInput }, allowTargets: ['127.0.0.1'], webhookDelays: ['1ms'] },
  });
}

test('redact.input reaches the input of a job with a target, wherever the job is shown', async (t) => {
  const { ask, duly, url, key } = await setup(t);
  const other = await startReceiver(t);
  const hook = await startReceiver(t);
  const reader = await key('read');
  const target = { http: { url: other.url, body: { card: { number: secret }, id: '{{input.user}}' } } };
  const created = await ask('/api/jobs', { body: { target, input, callback_url: hook.url } });
  assert.equal(created.status, 201);
  const { id } = created.json;
  const sent = await hook.nth(1);
  assert.deepEqual((await other.nth(1)).json, { card: { number: secret }, id: 1 });
  assert.equal(sent.json.input.input.card.number, '[redacted]');
  const stream = await fetch(new URL(`/api/jobs/${id}/events`, url), {
    headers: { Authorization: `Bearer ${reader}` },
  });
  const schedule = { name: 'ping', cron: '0 0 1 1 *', target, input };
  const put = await ask('/api/schedules', { body: schedule });
  assert.equal(put.status, 201, put.text);
  const edited = await ask('/api/schedules/ping', {
    method: 'PATCH',
    body: { input: { card: { number: `${secret}9` } } },
  });
  assert.equal(edited.status, 200, edited.text);
  const declared = { app: 'a', schedules: [{ ...schedule, name: 'declared' }] };
  const changed = {
    app: 'a',
    schedules: [{ ...schedule, name: 'declared', input: { card: { number: `${secret}8` } } }],
  };
  const texts = [
    created.text,
    sent.text,
    await stream.text(),
    put.text,
    edited.text,
    (await ask('/api/schedules/apply', { body: declared })).text,
    (await ask('/api/schedules/diff', { body: changed })).text,
    (await ask('/api/schedules/apply', { body: changed })).text,
    (await ask('/api/schedules/ping/trigger', { body: {} })).text,
    (await ask('/api/schedules?definition=true')).text,
    (await ask(`/api/jobs/${id}`, { key: reader })).text,
    (await ask('/api/jobs', { key: reader })).text,
    (await ask('/api/jobs?brief=true', { key: reader })).text,
    (await ask('/api/jobs/latest', { key: reader })).text,
    (await ask(`/api/jobs/${id}/why`, { key: reader })).text,
    (await ask('/api/audit')).text,
  ];
  for (const [i, text] of texts.entries()) {
    assert.ok(text.length > 2, `answer ${i} is empty`);
    assert.equal(text.includes(secret), false, `answer ${i} shows it: ${text.slice(0, 500)}`);
  }
  // The request itself and the store still have it.
  assert.equal(((await duly.job(id).get()).input as { input: typeof input }).input.card.number, secret);
  const query = new URLSearchParams({ 'input.input.card.number': secret });
  assert.equal((await ask(`/api/jobs?${query}`, { key: reader })).status, 400);
  const typed = new URLSearchParams({ 'input.input.card.number': secret, type: 'duly:http' });
  assert.equal((await ask(`/api/jobs?${typed}`, { key: reader })).status, 400);
});

test('a delivery that was stored before a field was hidden does not show it', async (t) => {
  const { ask, duly, store } = await setup(t, []);
  const hook = await startReceiver(t);
  const delivered = duly.next('job.settled', (event) => event.type === 'duly:webhook');
  await ask('/api/jobs', { body: { type: 'pay', input, callback_url: hook.url } });
  const { id } = await delivered;
  assert.equal((await ask(`/api/jobs/${id}`)).json.input.body.input.card.number, secret);
  const later = await startServer(t, { store, server: { redact: { input: ['card.number'] } } });
  assert.equal((await later.ask(`/api/jobs/${id}`)).json.input.body.input.card.number, '[redacted]');
  const query = new URLSearchParams({ 'input.body.input.card.number': secret, type: 'duly:webhook' });
  assert.equal((await later.ask(`/api/jobs?${query}`)).status, 400);
});
