// A release upgrades a store of the baseline, which holds data, while nodes of both work on it. The next release is a copy of
// the repository with two more job fields: a step of the schema and a new function set.

import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { after, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { createLabelCopy } from '../../../../../test/repo/label-copy.ts';
import { freshSchema, inSchema } from '../../../../../test/servers/postgres.ts';
import type { JobRecord } from '../../../src/contract/engine.ts';
import { jobStatuses } from '../../../src/contract/job-status.ts';
import type { Work } from './fixtures/upgrade-node.ts';
import { ask, url } from './setup.ts';

const fixtures = 'packages/core/test/engines/postgres/fixtures';
const baseline = fileURLToPath(new URL('./baseline/node.js', import.meta.url));
const released = new URL('../../../src/engines/postgres/sql/released.json', import.meta.url);
const running = new Set<ChildProcess>();
after(() => {
  for (const child of running) child.kill('SIGKILL');
});

/** A node in a process of its own: see upgrade-node.ts. */
interface Node {
  ask<Answer = Work>(command: string): Promise<Answer>;
  close(): Promise<void>;
}

async function startNode(program: string, store: string, name: string): Promise<Node> {
  const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', program, store, name], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  running.add(child);
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const read = async (): Promise<unknown> => {
    const { value, done } = await lines.next();
    assert.ok(done !== true, `node ${name} ended`);
    return JSON.parse(value);
  };
  await read();
  return {
    async ask<Answer>(command: string) {
      child.stdin.write(`${command}\n`);
      return (await read()) as Answer;
    },
    async close() {
      child.stdin.end();
      const [code] = await once(child, 'exit');
      running.delete(child);
      assert.equal(code, 0);
    },
  };
}

async function metaOf(schema: string): Promise<Record<string, number>> {
  const rows = await ask(`SELECT key, value FROM ${schema}.meta WHERE key <> 'store'`);
  return Object.fromEntries(rows.map(({ key, value }) => [key, Number(value)]));
}

it('a store of the baseline is upgraded while nodes of both releases work on it', async () => {
  const copy = await createLabelCopy();
  try {
    const schema = freshSchema();
    const store = inSchema(url, schema);
    const next = join(copy.folder, fixtures, 'upgrade-node.ts');
    const { functionSets, schema: steps } = JSON.parse(readFileSync(released, 'utf8'));
    const set = functionSets.length;
    const version = Object.keys(steps).length;
    const nextVersion = readdirSync(
      join(copy.folder, 'packages/core/src/engines/postgres/sql/schema'),
    ).length;
    const before = await startNode(baseline, store, 'before');
    const { kept, fence } = await before.ask<{ kept: string[]; fence: number }>('fill');
    const created = await metaOf(schema);
    const hash = created[`functions_${set}`];
    assert.deepEqual(created, {
      schema_version: version,
      lowest_set: set,
      lowest_code: 1_000,
      [`functions_${set}`]: hash,
      [`released_${set}`]: 1,
    });
    assert.equal(hash?.toString(16).padStart(13, '0'), functionSets.at(-1).slice(0, 13));
    const filled = await before.ask<JobRecord[]>('read');
    const statuses = filled.map(({ status }) => status);
    assert.deepEqual([...new Set(statuses)].sort(), [...jobStatuses].sort());
    const done: Work[] = [await before.ask('20')];

    // The migration of the next release dies after the steps of the schema.
    const killed = spawn(
      process.execPath,
      [
        '--disable-warning=ExperimentalWarning',
        join(copy.folder, fixtures, 'killed-migration.ts'),
        url,
        schema,
      ],
      { stdio: 'inherit' },
    );
    running.add(killed);
    const [duringMigration, [, signal]] = await Promise.all([before.ask('100'), once(killed, 'exit')]);
    running.delete(killed);
    done.push(duringMigration);
    assert.equal(signal, 'SIGKILL');
    assert.deepEqual(await metaOf(schema), { ...created, schema_version: nextVersion });

    // Nodes of the baseline work on the new schema, and may be started on it.
    const restarted = await startNode(baseline, store, 'restarted');
    done.push(...(await Promise.all([before.ask('50'), restarted.ask('50')])));

    // The next opening completes the upgrade, and nodes of both releases go on.
    const beforeOpening = before.ask('200');
    const upgraded = await startNode(next, store, 'upgraded');
    done.push(
      await beforeOpening,
      ...(await Promise.all([before, restarted, upgraded].map((node) => node.ask('100')))),
    );
    const meta = await metaOf(schema);
    assert.equal(Object.keys(meta).filter((key) => key.startsWith('functions_')).length, 2);
    assert.deepEqual({ ...meta, ...created, schema_version: nextVersion }, meta);
    assert.deepEqual(await before.ask('read'), filled);
    const [lock] = await ask(`SELECT fence FROM ${schema}.locks WHERE name = 'kept'`);
    assert.equal(Number(lock?.fence), fence);
    for (const node of [restarted, before, upgraded]) {
      done.push(await node.ask('drain'));
      await node.close();
    }

    // All that was created ran once, whoever created it and whoever ran it.
    const [made, settled] = [done.flatMap((one) => one.created), done.flatMap((one) => one.settled)];
    assert.ok(made.length > 500, String(made.length));
    assert.equal(new Set(settled).size, settled.length);
    assert.deepEqual([...settled].sort(), [...made].sort());
    const ended = await ask(
      `SELECT status, attempt, count(*)::int AS n FROM (
         SELECT id, status, attempt FROM ${schema}.finished UNION ALL SELECT id, status, attempt FROM ${schema}.dead
         UNION ALL SELECT id, status, attempt FROM ${schema}.jobs) j
       WHERE id <> ALL ($1) GROUP BY status, attempt`,
      [kept],
    );
    assert.deepEqual(ended, [{ status: 'COMPLETED', attempt: 1, n: made.length }]);
    // Each decision of a schedule has its run.
    const [runs] = await ask(
      `SELECT count(*)::int AS runs, count(s.job_id)::int AS decided
       FROM ${schema}.finished f FULL JOIN ${schema}.slots s ON s.job_id = f.id WHERE f.origin = 'schedule' OR f.id IS NULL`,
    );
    assert.ok(runs?.runs > 0);
    assert.equal(runs?.runs, runs?.decided);
  } finally {
    copy.remove();
  }
});
