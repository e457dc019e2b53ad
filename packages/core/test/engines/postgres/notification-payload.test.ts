import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Notification } from '../../../src/contract/engine.ts';
import { readPayload, writePayload } from '../../../src/engines/postgres/notification-payload.ts';

const names = ['mail', 'mail send', 'a,b:c', `it's "quoted"`, '\\', '%2C', '\n', 'größe 🦉', ',', 'jobs', ''];

test('what is written is read, whatever the types are called, and is safe inside of quotes', () => {
  const sent: Notification[] = [{ kind: 'jobs', types: names }, { kind: 'cancel' }, { kind: 'schedules' }];
  const payload = writePayload('me', sent);
  assert.match(payload, /^[^'\\\n\u0080-\uffff]*$/u);
  assert.deepEqual(readPayload(payload), { sender: 'me', notifications: sent });
  assert.equal(writePayload('me', [{ kind: 'jobs' }, { kind: 'locks' }]), 'me jobs locks');
});

test('types that do not fit into a payload are left out', () => {
  const types = ['ж', '🦉'].map((letter) => letter.repeat(600));
  const payload = writePayload('me', [{ kind: 'jobs', types }, { kind: 'locks' }]);
  assert.equal(payload, 'me jobs locks');
  const fitting = { kind: 'jobs', types: ['x'.repeat(3_900), 'y'.repeat(3_900)] } as const;
  assert.deepEqual(readPayload(writePayload('me', [fitting])).notifications, [fitting]);
});

test('what was not written by Duly is any type', () => {
  assert.deepEqual(readPayload('other jobs:%zz').notifications, [{ kind: 'jobs' }]);
});
