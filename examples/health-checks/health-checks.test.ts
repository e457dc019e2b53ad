import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createTestDuly } from 'duly/testing';
import { defineHealthChecks } from './health-checks.ts';

function createServices() {
  const t = createTestDuly();
  const services = {
    down: new Set<string>(),
    hanging: new Set<string>(),
    checkCount: 0,
    alerts: [] as string[],
    pagerFailures: 0,
  };
  const checks = defineHealthChecks(
    t,
    async (service, signal) => {
      services.checkCount += 1;
      if (services.down.has(service)) throw new Error('No answer.');
      if (services.hanging.has(service)) await t.clock.sleep(3_600_000, signal);
      signal.throwIfAborted();
    },
    async (service, isUp) => {
      if (services.pagerFailures-- > 0) throw new Error('The pager is away.');
      services.alerts.push(`${service} ${isUp ? 'up' : 'down'}`);
    },
  );
  return { t, services, checks };
}

test('a service that is well is checked every minute, and nobody is told', async () => {
  const { t, services, checks } = createServices();
  await checks.watch('web');
  // The same again, as by the next process.
  await checks.watch('web');
  await t.advance('1h');
  assert.ok([59, 60, 61].includes(services.checkCount), `${services.checkCount} checks in an hour`);
  assert.deepEqual(services.alerts, []);
  await t.stop();
});

test('one alert when it goes down, one when it is back, however long it lasts', async () => {
  const { t, services, checks } = createServices();
  await checks.watch('web');
  await checks.watch('mail');
  await t.advance('5m');
  services.down.add('web');
  await t.advance('3h');
  assert.deepEqual(services.alerts, ['web down']);
  assert.deepEqual([await checks.isUp('web'), await checks.isUp('mail')], [false, true]);
  services.down.delete('web');
  await t.advance('3h');
  assert.deepEqual(services.alerts, ['web down', 'web up']);
  services.down.add('web');
  await t.advance('5m');
  assert.deepEqual(services.alerts, ['web down', 'web up', 'web down']);
  await t.stop();
});

test('one failed check is no outage', async () => {
  const { t, services, checks } = createServices();
  await checks.watch('web');
  await t.advance('5m');
  services.down.add('web');
  await t.advance('1m');
  services.down.delete('web');
  await t.advance('1h');
  assert.deepEqual(services.alerts, []);
  await t.stop();
});

test('a service that does not answer at all is down too', async () => {
  const { t, services, checks } = createServices();
  await checks.watch('web');
  services.hanging.add('web');
  await t.advance('5m');
  assert.deepEqual(services.alerts, ['web down']);
  await t.stop();
});

test('a pager that is away is tried again; an outage of the checks themselves alerts nobody', async () => {
  const { t, services, checks } = createServices();
  await checks.watch('web');
  services.down.add('web');
  services.pagerFailures = 3;
  await t.advance('10m');
  assert.deepEqual(services.alerts, ['web down']);
  await t.outage('2h');
  await t.advance('10m');
  assert.deepEqual(services.alerts, ['web down']);
  await checks.unwatch('web');
  services.down.clear();
  await t.advance('1h');
  assert.deepEqual(services.alerts, ['web down']);
  await t.stop();
});

test('a check that dies after its alert was promised does not make it two', async () => {
  const { t, services, checks } = createServices();
  await checks.watch('web');
  services.down.add('web');
  const put = t.records.put;
  let failures = 1;
  // The store takes the promise, and then the process dies before it has noted that the service is down.
  t.records.put = ((kind: string, key: string, value: { isUp: boolean }, options: object) => {
    if (!value.isUp && failures-- > 0) return Promise.reject(new Error('Dead.'));
    return put(kind, key, value, options);
  }) as typeof put;
  await t.advance('10m');
  assert.equal(failures < 1, true, 'it did die');
  assert.deepEqual(services.alerts, ['web down']);
  await t.stop();
});
