import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isDulyError, systemClock } from '@duly/core';
import { type CommandLimits, type CommandRun, runCommand } from '../../src/targets/run-command.ts';

function run(script: string, given: Partial<CommandRun> = {}, limits?: CommandLimits) {
  const lines: [string, string][] = [];
  const end = runCommand(
    {
      argv: [process.execPath, '-e', script],
      cwd: undefined,
      env: {},
      stdin: '',
      signal: new AbortController().signal,
      onLine: (stream, line) => lines.push([stream, line]),
      ...given,
    },
    systemClock,
    limits,
  );
  return { lines, end };
}

/** Resolves once no process of this id is left. */
async function gone(pid: number): Promise<void> {
  for (;;) {
    try {
      process.kill(pid, 0);
    } catch {
      return;
    }
    await new Promise(setImmediate);
  }
}

test('lines of both streams are told, the input is given, and the exit code is the end', async () => {
  const { lines, end } = run(
    'process.stdin.on("data", (d) => console.log("in " + d)).on("end", () => { console.error("err"); process.stdout.write("no newline"); process.exitCode = 3; })',
    { stdin: '{"a":1}' },
  );
  const { exitCode, signal, isCut } = await end;
  assert.deepEqual({ exitCode, signal, isCut }, { exitCode: 3, signal: null, isCut: false });
  assert.deepEqual(lines.sort(), [
    ['stderr', 'err'],
    ['stdout', 'in {"a":1}'],
    ['stdout', 'no newline'],
  ]);
});

test('the environment is what was given and nothing of ours', async () => {
  process.env.DULY_TEST_SECRET = 'secret';
  const { lines, end } = run('console.log(JSON.stringify(process.env))', { env: { A: 'b' } });
  await end;
  delete process.env.DULY_TEST_SECRET;
  assert.deepEqual(JSON.parse(lines[0]?.[1] ?? ''), { A: 'b' });
});

test('output beyond the limit is left out, also when a line never ends, and the program is heard to its end', async () => {
  const { lines, end } = run(
    'for (let i = 0; i < 200; i++) process.stdout.write("x".repeat(10000))',
    {},
    { outputBytesMax: 50_000 },
  );
  const { exitCode, isCut } = await end;
  assert.equal(exitCode, 0);
  assert.equal(isCut, true);
  assert.ok(lines.every(([, line]) => line.length <= 4_096));
  assert.ok(lines.reduce((sum, [, line]) => sum + line.length, 0) <= 50_000);
});

test('an abort ends the whole group, also one that does not listen', { timeout: 20_000 }, async () => {
  const abort = new AbortController();
  const pids: number[] = [];
  const child = 'process.on("SIGTERM", () => {}); console.log(process.pid); setInterval(() => {}, 1000);';
  const { end } = run(
    `require("node:child_process").spawn(process.execPath, ["-e", ${JSON.stringify(child)}], { stdio: "inherit" }); ${child}`,
    {
      signal: abort.signal,
      onLine: (_, line) => {
        pids.push(Number(line));
        if (pids.length === 2) abort.abort(new Error('enough'));
      },
    },
    { killAfterMs: 100 },
  );
  await assert.rejects(end, /enough/);
  assert.equal(pids.length, 2);
  await Promise.all(pids.map(gone));
});

test('what a program leaves behind ends with it, and does not keep the job', {
  timeout: 20_000,
}, async () => {
  const { lines, end } = run(
    'const c = require("node:child_process").spawn(process.execPath, ["-e", "setInterval(() => {}, 1000)"], { stdio: "inherit" }); console.log(c.pid); c.unref(); setTimeout(() => process.exit(0), 50)',
  );
  assert.equal((await end).exitCode, 0);
  await gone(Number(lines[0]?.[1]));
});

test('a program that is not there is a failure that names it', async () => {
  await assert.rejects(run('', { argv: ['/no/such/program'] }).end, (error) => {
    assert.ok(isDulyError(error, 'command_failed'));
    assert.match(error.message, /\/no\/such\/program/);
    return true;
  });
});
