import assert from 'node:assert/strict';
import type { Engine, RecordsInput, SettingRecord } from '@duly/core/internal';
import { t0 } from './builders.ts';
import { accepted, auditOf, itemAt, only } from './steps.ts';
import type { DefineTest } from './suite.ts';

type Op = RecordsInput['groups'][number]['ops'][number];

async function run(engine: Engine, ...ops: Op[]): Promise<SettingRecord[][]> {
  return accepted(only((await engine.records({ now: t0, groups: [{ actor: 'key:anna', ops }] })).groups));
}

const get = (key: string): Op => ({ op: 'get', kind: 'alert', key });
const put = (key: string, value: string, expectVersion?: number | null): Op =>
  expectVersion === undefined
    ? { op: 'put', kind: 'alert', key, value }
    : { op: 'put', kind: 'alert', key, value, expectVersion };

/** What `records` promises. */
export function recordTests(test: DefineTest): void {
  test('a record is read back as it was put', async ({ engine }) => {
    const [written] = itemAt(await run(engine, put('späti', '{ "to": "ops" }')), 0);
    assert.ok(written);
    assert.deepEqual(
      [written.kind, written.key, written.value, written.updatedAt],
      ['alert', 'späti', '{ "to": "ops" }', t0],
    );
    assert.deepEqual(await run(engine, get('späti'), get('none')), [[written], []]);
  });

  test('every write gives a greater version', async ({ engine }) => {
    const first = only(itemAt(await run(engine, put('k', '1')), 0));
    const second = only(itemAt(await run(engine, put('k', '2')), 0));
    assert.ok(second.version > first.version);
    assert.equal(only(itemAt(await run(engine, get('k')), 0)).value, '2');
  });

  test('a put that expects what is not so refuses its whole group, and only it', async ({ engine }) => {
    const { version } = only(itemAt(await run(engine, put('k', '1')), 0));
    const reply = await engine.records({
      now: t0,
      groups: [
        { actor: 'key:anna', ops: [put('a', '1'), put('k', '2', version + 1)] },
        { actor: 'key:anna', ops: [put('b', '1')] },
        { actor: 'key:anna', ops: [put('k', '2', null)] },
        { actor: 'key:anna', ops: [put('k', '3', version)] },
      ],
    });
    assert.deepEqual(
      reply.groups.map(({ ok }) => ok),
      [false, true, false, true],
    );
    const refused = itemAt(reply.groups, 0);
    assert.ok(!refused.ok);
    assert.equal(refused.error.code, 'records_conflict');
    const [a, b, k] = await run(engine, get('a'), get('b'), get('k'));
    assert.deepEqual([a?.length, b?.length, k?.[0]?.value], [0, 1, '3']);
  });

  test('a put may demand that nothing is there', async ({ engine }) => {
    await run(engine, put('k', '1', null));
    const { groups } = await engine.records({
      now: t0,
      groups: [{ actor: 'a', ops: [put('k', '2', null)] }],
    });
    assert.equal(only(groups).ok, false);
    assert.equal(only(itemAt(await run(engine, get('k')), 0)).value, '1');
  });

  test('a record is deleted, by version where one is given', async ({ engine }) => {
    const { version } = only(itemAt(await run(engine, put('k', '1')), 0));
    const remove = (expectVersion: number): Op => ({ op: 'delete', kind: 'alert', key: 'k', expectVersion });
    const wrong = await engine.records({ now: t0, groups: [{ actor: 'a', ops: [remove(version + 1)] }] });
    assert.equal(only(wrong.groups).ok, false);
    assert.equal(itemAt(await run(engine, get('k')), 0).length, 1);
    await run(engine, remove(version));
    assert.deepEqual(await run(engine, get('k')), [[]]);
    await run(engine, { op: 'delete', kind: 'alert', key: 'k' });
  });

  test('operations of a group see those before them', async ({ engine }) => {
    const remove: Op = { op: 'delete', kind: 'alert', key: 'k' };
    const [, seen, , gone] = await run(engine, put('k', '1'), get('k'), remove, get('k'));
    assert.deepEqual([seen?.[0]?.value, gone], ['1', []]);
  });

  test('records of a kind are listed by key, in pages', async ({ engine }) => {
    for (const key of ['c', 'a', 'e', 'b', 'd']) await run(engine, put(key, `"${key}"`));
    await run(engine, { op: 'put', kind: 'other', key: 'b', value: '0' });
    const keys: string[] = [];
    let after: string | null = null;
    for (;;) {
      const page: SettingRecord[] = itemAt(
        await run(engine, { op: 'list', kind: 'alert', after, limit: 2 }),
        0,
      );
      assert.ok(page.length <= 2);
      keys.push(...page.map(({ key }) => key));
      const last = page.at(-1);
      if (last === undefined) break;
      after = last.key;
    }
    assert.deepEqual(keys, ['a', 'b', 'c', 'd', 'e']);
  });

  test('writes leave audit rows, reads do not', async ({ engine }) => {
    await run(engine, put('k', '{"v":1}'));
    await run(engine, put('k', '{"v":2}'));
    await run(engine, get('k'));
    await run(engine, { op: 'delete', kind: 'alert', key: 'k' });
    await run(engine, { op: 'put', kind: 'cursor', key: 'k', value: '7' });
    assert.deepEqual(
      await auditOf(engine, 'record:cursor/k'),
      [],
      'where a program stands is nobody’s decision',
    );
    await run(engine, { op: 'put', kind: 'session', key: 'k', value: '7' });
    assert.deepEqual(await auditOf(engine, 'record:session/k'), [], 'any read key could fill the audit');
    const rows = await auditOf(engine, 'record:alert/k');
    assert.deepEqual(
      rows.map(({ actor, before, after }) => [actor, before, after]),
      [
        ['key:anna', '{"v":2}', null],
        ['key:anna', '{"v":1}', '{"v":2}'],
        ['key:anna', null, '{"v":1}'],
      ],
    );
  });
}
