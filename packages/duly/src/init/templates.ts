/** The files that `duly init` writes, by their paths. */
export function templates({ app, version }: { app: string; version: string }): Record<string, string> {
  return {
    'duly.config.ts': config(app),
    'tasks/hello.ts': task,
    'tasks/hello.test.ts': test,
    'package.json': manifest(app, version),
  };
}

// Only types are imported: they are gone when it runs, so "npx duly up" works before anything is installed.
function config(app: string): string {
  return `import type { DulyConfig } from 'duly';

export default {
  app: '${app}',
  // Many machines: 'postgres://user:password@host/database'. Everything else stays as it is.
  store: process.env.DULY_STORE ?? 'sqlite:./duly.db',
} satisfies DulyConfig;
`;
}

const task = `import type { TaskDefinition } from 'duly';

/** Run it with: duly run hello '"Ada"' --watch */
export const hello = {
  name: 'hello',
  timeout: '1m',
  // A cron of five fields; '0 9 * * MON-FRI' with timezone: 'Europe/Rome' is nine in the morning there.
  every: { cron: '* * * * *', input: 'every minute' },
  async run({ input, progress, log }) {
    await progress(50, 'Thinking of something nice');
    log.info(\`Greeting \${input}\`);
    return \`Hello \${input}!\`;
  },
} satisfies TaskDefinition;
`;

const test = `import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createTestDuly } from 'duly/testing';
import { hello } from './hello.ts';

// Time stands still until the test moves it, so three days take a moment.
test('a greeting is sent three days later, and not before', async () => {
  const duly = createTestDuly();
  const { every: _, ...definition } = hello;
  const task = duly.task(definition);
  const job = await task.in('3 days', 'Ada');

  assert.deepEqual(await duly.advance('2 days'), []);
  const [ran] = await duly.advance('1 day');
  assert.equal(ran?.result, 'Hello Ada!');
  assert.equal((await job.get()).status, 'COMPLETED');
  await duly.stop();
});

test('it greets once a minute', async () => {
  const duly = createTestDuly();
  duly.task(hello);
  const ran = await duly.advance('10m');
  assert.equal(ran.length, 10);
  assert.equal(ran[0]?.result, 'Hello every minute!');
  await duly.stop();
});
`;

function manifest(app: string, version: string): string {
  const fields = {
    name: app,
    private: true,
    type: 'module',
    scripts: { dev: 'duly up', test: 'node --test' },
    dependencies: { duly: `^${version}` },
  };
  return `${JSON.stringify(fields, null, 2)}\n`;
}
