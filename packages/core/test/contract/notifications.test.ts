import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isAboutJobs, NotificationSet } from '../../src/contract/notifications.ts';

test('notifications of one kind are one, with the types of all', () => {
  const set = new NotificationSet().add('jobs', 'a').add('cancel').add('jobs', 'b').add('jobs', 'a');
  set.addAll([{ kind: 'jobs', types: ['c', 'b'] }, { kind: 'cancel' }]);
  assert.deepEqual([...set], [{ kind: 'jobs', types: ['a', 'b', 'c'] }, { kind: 'cancel' }]);
  assert.equal(set.size, 2);
});

test('any type wins over a list, whichever comes first', () => {
  for (const types of [
    [undefined, 'a'],
    ['a', undefined],
  ]) {
    const set = new NotificationSet();
    for (const type of types) set.add('jobs', type);
    assert.deepEqual([...set], [{ kind: 'jobs' }]);
    set.addAll([{ kind: 'jobs', types: ['b'] }]);
    assert.deepEqual([...set], [{ kind: 'jobs' }]);
  }
});

test('more than eight types are any', () => {
  const types = Array.from({ length: 9 }, (_, n) => `type ${n}`);
  const set = new NotificationSet().addAll([{ kind: 'jobs', types: types.slice(1) }]);
  assert.deepEqual([...set], [{ kind: 'jobs', types: types.slice(1) }]);
  assert.deepEqual([...set.add('jobs', types[0])], [{ kind: 'jobs' }]);
});

test('what is taken is no longer in the set', () => {
  const set = new NotificationSet().add('jobs', 'a').add('locks');
  assert.deepEqual(set.take('jobs'), [{ kind: 'jobs', types: ['a'] }]);
  assert.deepEqual(set.take('jobs'), []);
  assert.equal(set.has('jobs'), false);
  set.add('jobs', 'b');
  set.replace('jobs', [{ kind: 'jobs', types: ['c'] }]);
  assert.deepEqual(set.take('jobs'), [{ kind: 'jobs', types: ['c'] }]);
  assert.deepEqual(set.takeAll(), [{ kind: 'locks' }]);
  assert.equal(set.size, 0);
});

test('a notification without types is about all of them, and other kinds are about none', () => {
  const handled = new Set(['a', 'b']);
  assert.equal(isAboutJobs({ kind: 'jobs' }, handled), true);
  assert.equal(isAboutJobs({ kind: 'jobs', types: ['c', 'b'] }, handled), true);
  assert.equal(isAboutJobs({ kind: 'jobs', types: ['c'] }, handled), false);
  assert.equal(isAboutJobs({ kind: 'schedules' }, handled), false);
});
