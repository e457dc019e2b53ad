/** What is different when a person looks: needs a pseudo-terminal, which `script` of util-linux makes. */
import assert from 'node:assert/strict';
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { type TestContext, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { widthOf } from '../src/output/terminal.ts';
import { bareEnvironment, createFolder, type Folder } from './command.ts';

const bin = fileURLToPath(new URL('../src/bin.ts', import.meta.url));
const { stdout } = spawnSync('script', ['--version'], { encoding: 'utf8' });
const skip = stdout?.includes('util-linux') ? false : 'there is no "script" of util-linux here';

interface Session {
  /** Resolves when this was shown, in all that was shown so far. */
  shown(pattern: RegExp): Promise<void>;
  type(keys: string): void;
  ended: Promise<{ code: number | null; screen: string }>;
}

/** Runs a command on a terminal of 60 columns. */
function onTerminal(t: TestContext, folder: Folder, ...args: string[]): Session {
  const command = [process.execPath, bin, ...args].map((word) => `'${word}'`).join(' ');
  const child: ChildProcess = spawn(
    'script',
    ['-qefc', `stty cols 60 rows 24; exec ${command}`, '/dev/null'],
    {
      cwd: folder.path,
      env: { ...bareEnvironment(), TERM: 'xterm' },
      stdio: 'pipe',
    },
  );
  t.after(() => child.kill('SIGKILL'));
  let screen = '';
  const waiting = new Set<() => void>();
  child.stdout?.setEncoding('utf8').on('data', (text: string) => {
    screen += text;
    for (const look of waiting) look();
  });
  const ended = new Promise<{ code: number | null; screen: string }>((resolve) =>
    child.once('close', (code) => resolve({ code, screen })),
  );
  return {
    shown: (pattern) =>
      new Promise((resolve, reject) => {
        const look = (): void => {
          if (!pattern.test(screen)) return;
          waiting.delete(look);
          resolve();
        };
        waiting.add(look);
        look();
        void ended.then(() => reject(new Error(`It ended before ${pattern} was shown:\n${screen}`)));
      }),
    type: (keys) => void child.stdin?.write(keys),
    ended,
  };
}

/** What stands on a screen after everything that was written to it: lines, moves up, and clearing from there. */
function rowsOf(written: string): string[] {
  const rows = [''];
  for (const part of visible(written).split(/(\n|␛\[\d+A|␛\[0J)/)) {
    const move = /^␛\[(\d+)A$/.exec(part);
    if (move !== null) rows.splice(rows.length - Number(move[1]));
    else if (part === '\n') rows.push('');
    else if (part === '␛[0J') rows[rows.length - 1] = '';
    else rows[rows.length - 1] += part;
  }
  return rows;
}

/** What was written, with a sign for escape, and without colours and returns. */
function visible(written: string): string {
  return written
    .replaceAll('\r', '')
    .replaceAll('\u001b', '␛')
    .replaceAll(/␛\[[\d;]*m/g, '');
}

test('what a handler prints stays on the screen beside the bars, and no line is wider than it', {
  skip,
}, async (t) => {
  const folder = createFolder(t);
  folder.write({
    'tasks/loud.mjs': `
      import { existsSync } from 'node:fs';
      import { setTimeout } from 'node:timers/promises';
      export default { name: '转码任务', async run({ progress }) {
        await progress(40, '正在转码第一千零八十个视频文件，请稍候。正在转码第一千零八十个视频文件');
        console.log('out of the handler');
        console.error('and its trouble');
        while (!existsSync('go')) await setTimeout(10);
      } };
    `,
  });
  const up = onTerminal(t, folder, 'up');
  await up.shown(/is up/);
  await folder.duly('run', '转码任务');
  await up.shown(/██/);
  folder.write({ go: '' });
  await up.shown(/completed in/);
  up.type('\u0003');
  const { code, screen } = await up.ended;
  assert.equal(code, 0);
  const text = rowsOf(screen).join('\n');
  assert.match(text, /^out of the handler$/m);
  assert.match(text, /^and its trouble$/m);
  assert.match(text, /^Stopped\.$/m);
  assert.ok(!text.includes('█'), `a bar was left behind: ${text}`);
  const bars = visible(screen)
    .split('\n')
    .filter((line) => line.includes('█'));
  for (const bar of bars) assert.ok(widthOf(bar.replaceAll(/␛\[\d*[AJ]/g, '')) < 60, bar);
});

test('a question that is interrupted, ended or denied does nothing', { skip }, async (t) => {
  const folder = createFolder(t);
  folder.write({
    'tasks/failing.mjs': `export default { name: 'failing', retry: 1, run: () => { throw 1; } };`,
  });
  const worker = folder.start('worker');
  await worker.line(/is up/);
  assert.equal((await folder.duly('run', 'failing', '--watch')).code, 10);
  for (const [keys, expected] of [
    ['\u0003', 130],
    ['\u0004', 1],
    ['n\r', 1],
    ['y\r', 0],
  ] as const) {
    const discard = onTerminal(t, folder, 'dead', 'discard', '--all');
    await discard.shown(/Discard 1 dead letter\? \[y\/N\]/);
    discard.type(keys);
    const { code, screen } = await discard.ended;
    assert.equal(code, expected, screen);
    assert.match(screen, expected === 0 ? /1 dead letter discarded\./ : /Nothing was done\./);
    assert.ok(!screen.includes('internal'), screen);
  }
});

test('dead letters that arrive while the question is open are left alone', { skip }, async (t) => {
  const folder = createFolder(t);
  folder.write({
    'tasks/failing.mjs': `export default { name: 'failing', retry: 1, run: () => { throw 1; } };`,
  });
  const worker = folder.start('worker');
  await worker.line(/is up/);
  assert.equal((await folder.duly('run', 'failing', '--watch')).code, 10);
  const discard = onTerminal(t, folder, 'dead', 'discard', '--all');
  await discard.shown(/Discard 1 dead letter\? \[y\/N\]/);
  assert.equal((await folder.duly('run', 'failing', '--watch')).code, 10);
  discard.type('y\r');
  const { code, screen } = await discard.ended;
  assert.equal(code, 0, screen);
  assert.match(screen, /1 dead letter discarded\./);
  assert.equal((await folder.json('dead', 'ls')).data.length, 1);
});
