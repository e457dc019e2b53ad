import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { Duly, systemClock, type Task } from '@duly/core';
import { Webhook } from 'standardwebhooks';
import { type AlertRule, defaultAlertRules } from '../../src/alerts/alert-rule.ts';
import { createAlertStore } from '../../src/alerts/alert-store.ts';
import type { AlertInput } from '../../src/alerts/alert-task.ts';
import { createFactReader } from '../../src/alerts/facts.ts';
import { alertKinds } from '../../src/alerts/rules/index.ts';
import type { stuck as stuckKind } from '../../src/alerts/rules/stuck.ts';
import { createAlertWatch } from '../../src/alerts/watch.ts';
import { createServer } from '../../src/index.ts';
import { appOf, type DulyServer } from '../../src/server.ts';
import { type FixtureOptions, startServer } from '../fixture.ts';
import { startMailServer } from '../mail-server.ts';
import { startReceiver } from '../receiver.ts';

const tasks = [
  {
    name: 'break',
    retry: 1,
    run: () => {
      throw new Error('no luck');
    },
  },
];

/** A server whose rules are looked at when the test says so. */
async function setup(t: TestContext, options: FixtureOptions = {}) {
  const fixture = await startServer(t, {
    tasks,
    start: true,
    ...options,
    server: { allowTargets: ['127.0.0.1'], alertEvery: '1h', ...options.server },
  });
  /** Makes a dead letter. */
  const fail = async (): Promise<void> => {
    const job = await fixture.duly.taskNamed('break').now();
    await job.wait().catch(() => {});
  };
  return { ...fixture, fail, look: () => lookOf(fixture.server) };
}

function lookOf(server: DulyServer): Promise<void> {
  const inside = appOf.get(server);
  assert.ok(inside);
  return inside.context.builtIn.alerts.look();
}

test('the default rules are there from the first start, can be changed, and stay deleted', async (t) => {
  const { ask, store } = await setup(t);
  const { json } = await ask('/api/alerts/rules');
  assert.deepEqual(
    json.data.map(
      ({ id, kind, enabled }: { id: string; kind: string; enabled: boolean }) => `${id} ${kind} ${enabled}`,
    ),
    alertKinds.map(({ kind }) => `${kind.replaceAll('_', '-')} ${kind} true`).sort(),
  );
  const stuck = json.data.find(({ id }: { id: string }) => id === 'stuck');
  assert.equal(stuck.after, 1_800_000);
  const changed = await ask('/api/alerts/rules/stuck', {
    method: 'PATCH',
    body: { after: '2h', types: ['render'] },
  });
  assert.deepEqual([changed.status, changed.json.after, changed.json.types], [200, 7_200_000, ['render']]);
  assert.equal((await ask('/api/alerts/rules/stuck', { method: 'PATCH', body: { count: 3 } })).status, 400);
  assert.equal((await ask('/api/alerts/rules/waiting', { method: 'DELETE' })).status, 204);
  assert.equal((await ask('/api/alerts/rules/waiting', { method: 'DELETE' })).status, 404);
  const created = await ask('/api/alerts/rules', { body: { kind: 'failure_rate', id: 'strict', above: 1 } });
  assert.deepEqual([created.status, created.json.above, created.json.window], [201, 1, 3_600_000]);
  assert.equal((await ask('/api/alerts/rules', { body: { kind: 'stuck', id: 'strict' } })).status, 409);
  const second = new Duly({ store, logger: false });
  t.after(() => second.stop());
  const other = createServer({ duly: second });
  await other.start();
  await other.stop();
  const ids = (await ask('/api/alerts/rules')).json.data.map(({ id }: { id: string }) => id);
  assert.equal(ids.includes('waiting'), false);
  assert.equal(ids.length, alertKinds.length);
});

test('one notice when it fires, one when it resolves, none in between, to each channel', async (t) => {
  const { ask, fail, look, duly } = await setup(t);
  const hook = await startReceiver(t);
  for (const kind of ['webhook', 'slack']) {
    const { status, json } = await ask('/api/alerts/channels', {
      body: { kind, url: `${hook.url}/${kind}?token=x` },
    });
    assert.deepEqual([status, json.to], [201, `127.0.0.1:${hook.port}`]);
  }
  await look();
  await fail();
  await look();
  await fail();
  await look();
  await hook.nth(2);
  const { json: firing } = await ask('/api/alerts');
  assert.deepEqual(
    firing.data.map(({ rule, subject, muted }: Record<string, unknown>) => ({ rule, subject, muted })),
    [{ rule: 'dead-letters', subject: 'store', muted: false }],
  );
  await duly.dead.discard({});
  await look();
  await look();
  await hook.nth(4);
  assert.deepEqual((await ask('/api/alerts')).json.data, []);
  const reported = hook.received.map(
    ({ path, json }) => `${path} ${json.type ?? json.text.split(':', 1)[0]}`,
  );
  assert.deepEqual(reported.sort(), [
    '/slack?token=x Alert',
    '/slack?token=x Resolved',
    '/webhook?token=x alert.fired',
    '/webhook?token=x alert.resolved',
  ]);
  const signed = hook.received.find(({ path }) => path.startsWith('/webhook'));
  const { json } = await ask('/api/webhooks/secrets');
  assert.ok(signed);
  new Webhook(json.secrets[0]).verify(signed.text, signed.headers as Record<string, string>);
  // Nobody changed anything but the channels.
  const audited = (await ask('/api/audit')).json.data.map(({ subject }: { subject: string }) => subject);
  assert.deepEqual(
    audited.filter((subject: string) => subject.includes('alert-state')),
    [],
  );
  // Jobs that tell are all done, and there were no others.
  const { jobs } = await duly.jobs({ type: 'duly:alert' }).page();
  assert.equal(jobs.length, 4);
});

test('whoever heard that a rule fires hears that it is over when the rule is switched off or deleted', async (t) => {
  const { ask, fail, look } = await setup(t);
  const hook = await startReceiver(t);
  await ask('/api/alerts/channels', { body: { kind: 'webhook', url: hook.url } });
  await ask('/api/alerts/rules', { body: { kind: 'dead_letters', id: 'second' } });
  await fail();
  await look();
  await hook.nth(2);
  await ask('/api/alerts/rules/dead-letters', { method: 'PATCH', body: { enabled: false } });
  await look();
  await hook.nth(3);
  assert.equal((await ask('/api/alerts/rules/second', { method: 'DELETE' })).status, 204);
  await hook.nth(4);
  await look();
  assert.deepEqual(hook.received.map(({ json }) => `${json.rule} ${json.type}`).sort(), [
    'dead-letters alert.fired',
    'dead-letters alert.resolved',
    'second alert.fired',
    'second alert.resolved',
  ]);
  assert.deepEqual((await ask('/api/alerts')).json.data, []);
  // Switched on again it tells anew.
  await ask('/api/alerts/rules/dead-letters', { method: 'PATCH', body: { enabled: true } });
  await look();
  const { json } = await hook.nth(5);
  assert.deepEqual([json.rule, json.type], ['dead-letters', 'alert.fired']);
});

test('a channel or a rule that is not there is refused, and a channel that rules name is not deleted', async (t) => {
  const { ask } = await setup(t);
  const { json: channel } = await ask('/api/alerts/channels', {
    body: { kind: 'webhook', url: 'https://example.com/' },
  });
  const rule = (channels: string[] | null) =>
    ask('/api/alerts/rules/stuck', { method: 'PATCH', body: { channels } });
  for (const answer of [
    await rule(['nobody']),
    await ask('/api/alerts/rules', { body: { kind: 'stuck', id: 'new', channels: [channel.id, 'nobody'] } }),
    await ask('/api/alerts/windows', { body: { cron: '0 2 * * *', duration: '1h', rules: ['nobody'] } }),
  ]) {
    assert.deepEqual([answer.status, answer.json.code], [400, 'request_invalid']);
    assert.match(answer.json.detail, /there is no "nobody"/);
  }
  assert.equal((await rule([channel.id])).status, 200);
  const kept = await ask(`/api/alerts/channels/${channel.id}`, { method: 'DELETE' });
  assert.deepEqual(
    [kept.status, kept.json.code, kept.json.details.rules],
    [409, 'alert_channel_in_use', ['stuck']],
  );
  assert.equal((await rule(null)).status, 200);
  assert.equal((await ask(`/api/alerts/channels/${channel.id}`, { method: 'DELETE' })).status, 204);
});

test('of running jobs only those are read that may run for too long, however many others there are', async (t) => {
  const { ask, duly } = await setup(t, { tasks: [], start: undefined as never });
  await ask('/api/jobs', { body: { type: 'long' } });
  const claimed = await ask('/api/worker/claim', { body: { worker: 'w', tasks: [{ type: 'long' }] } });
  const [job] = claimed.json.jobs;
  const read = async (afterMs: number) => {
    const stuck = defaultAlertRules.find(({ id }) => id === 'stuck') as AlertRule;
    const facts = await createFactReader(duly, systemClock).read([
      { ...stuck, condition: { kind: 'stuck', afterMs } },
    ]);
    return (facts.byKind.get('stuck') as Awaited<ReturnType<typeof stuckKind.collect>>).running.map(
      ({ id }) => id,
    );
  };
  assert.deepEqual(await read(3_600_000), []);
  await duly.taskNamed('other').now();
  // By the store's clock time has passed since, be it a millisecond.
  assert.deepEqual(await read(0), [job.id]);
});

test('a rule of a kind that only a newer release knows stops no other rule', async (t) => {
  const { ask, duly, fail, look } = await setup(t);
  const known = defaultAlertRules.find(({ id }) => id === 'stuck') as AlertRule;
  const newer = { ...known, id: 'newer', condition: { kind: 'of_a_newer_release', limit: 3 } };
  await createAlertStore(duly).rules.create(newer as unknown as AlertRule);
  await fail();
  await look();
  const { json } = await ask('/api/alerts');
  assert.deepEqual(
    json.data.map(({ rule }: { rule: string }) => rule),
    ['dead-letters'],
  );
  const rules = (await ask('/api/alerts/rules')).json.data;
  assert.equal(rules.find(({ id }: { id: string }) => id === 'newer').kind, 'of_a_newer_release');
  assert.equal((await ask('/api/alerts/rules/newer', { method: 'DELETE' })).status, 204);
});

test('however many look at the same time, it is told once', async (t) => {
  const { ask, fail, store, server, duly } = await setup(t);
  const hook = await startReceiver(t);
  await ask('/api/alerts/channels', { body: { kind: 'webhook', url: hook.url } });
  await fail();
  const others = [1, 2, 3].map(() => {
    const other = new Duly({ store, logger: false });
    t.after(() => other.stop());
    return createServer({ duly: other });
  });
  await Promise.all([server, ...others].map(lookOf));
  await Promise.all([server, ...others].map(lookOf));
  await hook.nth(1);
  const { jobs } = await duly.jobs({ type: 'duly:alert' }).page();
  assert.equal(jobs.length, 1);
});

test('a maintenance window mutes, and what still holds afterwards is told then', async (t) => {
  const { ask, fail, look } = await setup(t);
  const hook = await startReceiver(t);
  await ask('/api/alerts/channels', { body: { kind: 'webhook', url: hook.url } });
  const { status, json: window } = await ask('/api/alerts/windows', {
    body: { from: '2020-01-01T00:00:00Z', until: '2100-01-01T00:00:00Z', note: 'moving' },
  });
  assert.deepEqual([status, window.open], [201, true]);
  await fail();
  await look();
  assert.deepEqual(
    (await ask('/api/alerts')).json.data.map(({ muted }: { muted: boolean }) => muted),
    [true],
  );
  assert.equal((await ask(`/api/alerts/windows/${window.id}`, { method: 'DELETE' })).status, 204);
  await look();
  assert.equal((await hook.nth(1)).json.type, 'alert.fired');
  assert.equal(
    (await ask('/api/alerts/windows', { body: { cron: '0 2 * * *', duration: '2h' } })).status,
    201,
  );
  assert.equal((await ask('/api/alerts/windows', { body: { cron: 'often', duration: '2h' } })).status, 400);
});

test('a window that opens while a look is under way mutes what that look finds', async (t) => {
  const { duly, ask, fail } = await setup(t);
  const reader = createFactReader(duly, systemClock);
  const watch = createAlertWatch({
    ...{ duly, clock: systemClock, logger: { debug() {}, info() {}, warn() {}, error() {} } },
    ...{ store: createAlertStore(duly), everyMs: 3_600_000 },
    // Nothing is handed over.
    task: duly.taskNamed('break') as Task<AlertInput, unknown>,
    facts: {
      async read(rules) {
        const body = { from: '2020-01-01T00:00:00Z', until: '2100-01-01T00:00:00Z' };
        assert.equal((await ask('/api/alerts/windows', { body })).status, 201);
        await fail();
        return reader.read(rules);
      },
    },
  });
  await watch.look();
  assert.deepEqual(
    (await ask('/api/alerts')).json.data.map(({ muted }: { muted: boolean }) => muted),
    [true],
  );
});

test('a schedule that has not succeeded by its deadline is told, though no run was ever created', async (t) => {
  // Nobody decides schedules here.
  const { duly, ask, store } = await setup(t, { start: { roles: ['worker'] } });
  await duly.taskNamed('break').every({ rate: '1s' }, undefined, { name: 'often', finishDeadline: '1ms' });
  // Another one looks: the first may have read which schedules there are before this one was, and keeps that for a minute.
  const second = new Duly({ store, logger: false });
  t.after(() => second.stop());
  const other = createServer({ duly: second });
  const { jobs } = await duly.jobs({}).page();
  assert.equal(jobs.length, 0);
  let alerts: { rule: string; subject: string; message: string }[] = [];
  while (alerts.length === 0) {
    await lookOf(other);
    alerts = (await ask('/api/alerts')).json.data;
  }
  assert.deepEqual([alerts[0]?.rule, alerts[0]?.subject], ['schedule-deadline', 'schedule:often']);
  assert.match(alerts[0]?.message ?? '', /no run was created/);
});

test('by e-mail and by command', async (t) => {
  const mail = await startMailServer(t);
  const { ask, fail, look, duly } = await setup(t, {
    server: { smtp: { url: mail.url, from: 'Duly <duly@example.com>' }, allowCommands: true },
  });
  const sent = mail.next();
  assert.equal(
    (await ask('/api/alerts/channels', { body: { kind: 'email', to: ['ops@example.com'] } })).status,
    201,
  );
  const script = 'console.log(process.env.DULY_ALERT_EVENT, process.env.DULY_ALERT_RULE)';
  await ask('/api/alerts/channels', { body: { kind: 'command', argv: [process.execPath, '-e', script] } });
  await fail();
  await look();
  const { from, to, text } = await sent;
  assert.deepEqual([from, to], ['duly@example.com', ['ops@example.com']]);
  assert.match(text, /Subject: Alert: There is 1 dead letter/);
  assert.match(text, /Rule: dead-letters/);
  const { jobs } = await duly.jobs({ type: 'duly:alert' }).page();
  const done = await Promise.all(jobs.map(({ id }) => duly.job(id).wait()));
  for (const { result } of done) assert.deepEqual(result, { told: true }, 'the stored result');
  const lines = await Promise.all(jobs.map(({ id }) => duly.job(id).logs()));
  assert.ok(lines.flat().some(({ message }) => message === 'fired dead-letters'));
});

test('a channel that cannot be used is refused when it is created, and one that can be is tested', async (t) => {
  const { ask, key } = await setup(t);
  const refused = async (body: object) => {
    const { status, json } = await ask('/api/alerts/channels', { body });
    return `${status} ${json.code}`;
  };
  assert.equal(await refused({ kind: 'slack', url: 'http://10.0.0.1/' }), '422 target_refused');
  assert.equal(await refused({ kind: 'email', to: ['ops@example.com'] }), '400 mail_not_set_up');
  assert.equal(await refused({ kind: 'command', argv: ['true'] }), '403 commands_disabled');
  assert.equal(await refused({ kind: 'pigeon' }), '400 request_invalid');
  const hook = await startReceiver(t);
  const { json } = await ask('/api/alerts/channels', { body: { kind: 'webhook', url: hook.url } });
  assert.equal((await ask(`/api/alerts/channels/${json.id}/test`, { method: 'POST' })).status, 204);
  assert.equal((await hook.nth(1)).json.type, 'alert.test');
  assert.equal((await ask('/api/alerts', { key: await key('read', 'acme') })).status, 403);
});
