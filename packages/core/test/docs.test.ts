import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { Duly, isDulyError } from '../src/index.ts';
import { resolveOptions, resolveStart, resolveStop } from '../src/options.ts';

const root = join(import.meta.dirname, '../../..');
const run = promisify(execFile);
const pages = [
  'README',
  'jobs',
  'schedules',
  'coordination',
  'testing',
  'server',
  'choosing',
  'missed-and-overlapping',
  'time-zones',
  'idempotency',
  'progress',
  'many-machines',
  'operating',
  'moving',
  'security',
  'observability',
  'from-bullmq',
  'from-pg-boss',
  'from-celery',
];

/** The `ts` blocks of a page as one program: a page tells one story, and its blocks share their names. */
function programOf(page: string): string {
  const text = readFileSync(join(root, page === 'README' ? 'README.md' : `docs/guides/${page}.md`), 'utf8');
  return [...text.matchAll(/^```ts\n(.*?)^```$/gms)].map(([, code]) => code).join('\n');
}

/** A folder outside of the repository that finds its packages, as a user's project would. */
function createProject(t: { after(fn: () => void): void }): string {
  const folder = mkdtempSync(join(tmpdir(), 'duly-docs-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }');
  for (const page of pages) writeFileSync(join(folder, `${page}.ts`), programOf(page));
  return folder;
}

async function compile(folder: string, files: string[]): Promise<void> {
  const config = {
    extends: join(root, 'tsconfig.base.json'),
    compilerOptions: {
      noEmit: true,
      preserveSymlinks: false,
      typeRoots: [join(root, 'node_modules/@types')],
    },
    files,
  };
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(config));
  const tsc = join(root, 'node_modules/typescript/bin/tsc');
  await run(process.execPath, [tsc, '-p', folder]).catch((error: { stdout: string }) =>
    assert.fail(error.stdout),
  );
}

test('the programs of the guides and of the README compile', async (t) => {
  await compile(
    createProject(t),
    pages.map((page) => `${page}.ts`),
  );
});

for (const page of pages) {
  test(`the program of the page "${page}" runs to its end`, async (t) => {
    const folder = createProject(t);
    const { stderr } = await run(process.execPath, [`${page}.ts`], { cwd: folder, timeout: 60_000 });
    assert.equal(stderr, '');
  });
}

/**
 * Pages whose blocks stand in a program of the reader's, each block by itself: what that program has is declared here, and
 * the blocks are compiled with it. They need a server, threads or tables of the reader's, so they are not run.
 */
const fragments: Record<string, string> = {
  workers: `
    import { Duly } from 'duly';
    declare const duly: Duly;
    declare function renderInAThread(): Promise<void>;`,
  'durations-and-instants': `
    import type { Task } from 'duly';
    declare const chart: Task<unknown, unknown>;
    declare const input: { train: string };
    declare const departure: Date;`,
  transactions: `
    import { DatabaseSync } from 'node:sqlite';
    import { Duly, type Task } from 'duly';
    import type { Pool } from 'pg';
    import { z } from 'zod';
    declare const duly: Duly;
    declare const pool: Pool;
    declare const order: { id: number };
    declare const sendReceipt: Task<{ order: number }, unknown>;
    void [DatabaseSync, z];`,
  postgres: `
    import { Duly } from 'duly';`,
};

test('the blocks of guides that stand in a program of the reader compile', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'duly-docs-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }');
  const files: string[] = [];
  for (const [page, declared] of Object.entries(fragments)) {
    const text = readFileSync(join(root, `docs/guides/${page}.md`), 'utf8');
    const blocks = [...text.matchAll(/^```ts\n(.*?)^```$/gms)].map(([, code]) => code as string);
    assert.ok(blocks.length > 0, page);
    for (const [index, block] of blocks.entries()) {
      const name = `${page}-${index}.ts`;
      // What a block declares itself goes before what was declared for it.
      writeFileSync(join(folder, name), `${declared}\n{\n${block}\n}\nexport {};\n`);
      files.push(name);
    }
  }
  await compile(folder, files);
});

test('no guide shows code that is not compiled', () => {
  const shown = readdirSync(join(root, 'docs/guides'))
    .map((file) => file.replace(/\.md$/, ''))
    .filter((page) => programOf(page) !== '');
  assert.deepEqual(
    shown.filter((page) => !pages.includes(page) && !(page in fragments)),
    [],
  );
});

/** The names that a refusal lists. */
async function namesOf(call: (wrong: never) => unknown): Promise<string[]> {
  try {
    await call({ zzzzzzzzzz: 1 } as never);
  } catch (error) {
    if (isDulyError(error)) return /^The options are (.*)\.$/.exec(error.hint ?? '')?.[1]?.split(', ') ?? [];
  }
  return assert.fail('the unknown option was not refused');
}

test('the reference of options lists exactly what the source takes', async (t) => {
  const duly = new Duly({ store: 'sqlite::memory:' });
  t.after(() => duly.stop());
  const task = duly.task({ name: 'a', run: () => {} });
  const resolved = resolveOptions({});
  const sources: Record<string, (wrong: never) => unknown> = {
    'new Duly()': (wrong) => new Duly(wrong),
    'duly.task()': (wrong) => duly.task({ name: 'b', run: () => {}, ...(wrong as object) }),
    'Options of a job': (wrong) => task.now(1, wrong),
    Schedules: (wrong) => duly.schedules.put({ type: 'a', cron: '0 0 * * *', ...(wrong as object) }),
    'duly.start()': (wrong) => resolveStart(wrong, resolved),
    'duly.stop()': (wrong) => resolveStop(wrong, resolved),
    'duly.lock()': (wrong) => duly.lock('a', wrong, () => 1),
    'duly.leader()': (wrong) => duly.leader('a', wrong),
    'duly.once()': (wrong) => duly.once('a', wrong, () => 1),
    Filters: (wrong) => duly.jobs(wrong),
  };
  const text = readFileSync(join(root, 'docs/reference/options.md'), 'utf8');
  const sections = text.split(/^## /m).slice(1);
  assert.deepEqual(
    sections.map((section) => section.split('\n', 1)[0]),
    Object.keys(sources),
  );
  for (const section of sections) {
    const [title = ''] = section.split('\n', 1);
    const listed = [...section.matchAll(/^\| `(\w+)` \|/gm)].map(([, name]) => name);
    assert.deepEqual(listed, await namesOf(sources[title] as (wrong: never) => unknown), title);
  }
});
