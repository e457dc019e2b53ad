import assert from 'node:assert/strict';
import { test } from 'node:test';
import { cellsOf, takeCells } from '../src/output/cells.ts';
import { createLiveArea } from '../src/output/live-area.ts';
import { redirectWrites } from '../src/output/redirect.ts';
import { type Column, printTable } from '../src/output/table.ts';
import { cut, cutPainted, harmless, pad, type Terminal, widthOf, wrap } from '../src/output/terminal.ts';
import { relative } from '../src/output/times.ts';

/** A terminal that keeps what is written to it. */
function createScreen(columns: number): Terminal & { text(): string } {
  let text = '';
  const write = (more: string): void => {
    text += more;
  };
  return {
    isTerminal: true,
    columns: () => columns,
    rows: () => 24,
    write,
    line: (line = '') => write(`${line}\n`),
    sentence: (line) => write(`${wrap(line, columns).join('\n')}\n`),
    paint: (_style, painted) => painted,
    text: () => text,
  };
}

test('a text takes as many cells as a terminal gives it, never fewer', () => {
  const cases: [string, number][] = [
    ['', 0],
    ['plain', 5],
    ['naïve', 5],
    ['nai\u0308ve', 5],
    ['转码', 4],
    ['ﾊﾝｶｸ', 4],
    ['ＡＢ', 4],
    ['한글', 4],
    ['\u1112\u1161\u11ab', 2],
    ['🎬', 2],
    ['❤', 1],
    ['❤\ufe0f', 2],
    ['🇩🇪', 2],
    ['שלום', 4],
    ['a\u200bb', 2],
    ['█░…✓', 4],
    ['𠜎', 2],
  ];
  for (const [text, cells] of cases) assert.equal(cellsOf(text), cells, JSON.stringify(text));
  // Terminals that do not join show its parts side by side.
  assert.ok(cellsOf('👨‍👩‍👧') >= 2);
});

test('a cut text fits its width and keeps letters whole', () => {
  const samples = [
    'plain text',
    '正在转码第一千零八十个',
    'nai\u0308ve\u0308',
    '👨‍👩‍👧👍🏽 and more',
    '🇩🇪🇫🇷🇮🇹',
  ];
  for (const sample of samples) {
    for (let width = 0; width <= 24; width++) {
      assert.ok(cellsOf(cut(sample, width)) <= width, `${sample} in ${width}`);
      const painted = `\u001b[1m${sample}\u001b[22m${sample}\u001b[39m`;
      const short = cutPainted(painted, Math.max(1, width));
      assert.ok(widthOf(short) <= Math.max(1, width), `${sample}, painted, in ${width}`);
      assert.ok(short.endsWith('\u001b[39m'), 'colours are ended behind the cut');
    }
  }
  assert.equal(takeCells('e\u0301e\u0301', 1), 'e\u0301');
  assert.equal(cut('转码任务', 5), '转码…');
  assert.equal(cut('转码任务', 4), '转…');
  assert.equal(pad('转码', 6), '转码  ');
  assert.deepEqual(wrap('one two three', 7), ['one two', 'three']);
  assert.deepEqual(wrap('job_0123456789 is', 5), ['job_0123456789', 'is'], 'a word stays whole');
  assert.deepEqual(wrap('  one two three', 9), ['  one two', '  three'], 'below its first word');
  assert.deepEqual(wrap('  ! one two three', 11), ['  ! one two', '    three'], 'not below the mark');
  assert.deepEqual(wrap('  job_0123456789 is', 5), ['  job_0123456789', '  is']);
});

test('text of others cannot move the cursor, end a line or turn the direction of writing', () => {
  assert.equal(harmless('a\u001b[2Jb\rc\u0007d\u202ee\u2066f'), 'a\ufffd[2Jb\ufffdc\ufffdd\ufffde\ufffdf');
});

test('a table fits the terminal: the last column is cut first, then columns are left out, an id never', () => {
  const columns: Column[] = [
    { title: 'ID' },
    { title: 'TYPE', widthMin: 4 },
    { title: 'CREATED', align: 'right', leaveOut: 1 },
    { title: 'DETAIL', widthMin: 6, leaveOut: 2 },
  ];
  const rows = [['id_000001', '转码任务', '12 s ago', '正在转码第一千零八十个视频文件']];
  for (const width of [120, 60, 44, 40, 30, 24, 20]) {
    const screen = createScreen(width);
    printTable(screen, columns, rows);
    const lines = screen.text().trimEnd().split('\n');
    for (const line of lines) assert.ok(widthOf(line) <= width, `${width}: ${line}`);
    assert.match(lines[1] as string, /^id_000001 /);
  }
  const wide = createScreen(120);
  printTable(wide, columns, [...rows, ['id_000002', 'mail', '', 'x']]);
  const [, first = '', second = ''] = wide.text().split('\n');
  assert.equal(widthOf(first.slice(0, first.indexOf('正'))), widthOf(second.slice(0, second.indexOf('x'))));
});

test('what others print stands above the live lines, whole lines at once, the rest when it has its end', () => {
  const screen = createScreen(20);
  const area = createLiveArea(screen);
  area.set(() => ['bar']);
  area.write('handler: ');
  area.write('one\ntw');
  area.close();
  assert.equal(screen.text().replaceAll('\r', '').replaceAll('\u001b[0J', ''), 'handler: one\ntw\n');
});

test('writes to a stream can be taken over, and are given back', async () => {
  const written: string[] = [];
  const taken: string[] = [];
  const stream = { write: (text: string) => written.push(text) > 0 } as unknown as NodeJS.WriteStream;
  const restore = redirectWrites(stream, (text) => taken.push(text));
  stream.write('a');
  const bytes = Buffer.from('ü');
  // A letter may arrive in two pieces.
  stream.write(bytes.subarray(0, 1));
  await new Promise<void>((done) => stream.write(bytes.subarray(1), () => done()));
  restore();
  stream.write('b');
  assert.equal(taken.join(''), 'aü');
  assert.deepEqual(written, ['b']);
});

test('times in lists are rounded to the nearest unit', () => {
  const now = Date.UTC(2027, 0, 1);
  const cases: [number, string][] = [
    [0, 'now'],
    [-999, 'now'],
    [1_000, 'in 1 s'],
    [-59_400, '59 s ago'],
    [59_600, 'in 1 min'],
    [298_000, 'in 5 min'],
    [-3_570_000, '1 h ago'],
    [86_000_000, 'in 1 d'],
    [-10 * 86_400_000, '10 d ago'],
  ];
  for (const [ms, text] of cases) assert.equal(relative(new Date(now + ms), now), text);
});
