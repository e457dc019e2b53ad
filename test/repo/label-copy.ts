// Copies the repository and adds a passive job field to the copy, by the steps of docs/internals/changing.md and by nothing else.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import {
  cpSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { root } from '../../scripts/source-text.ts';

const page = 'docs/internals/changing.md';
const heading = '## Add a passive job field';

/** The second field: an instant, and a name so long that Biome wraps the lines that are generated for it. */
export const longName = 'labelReadOutLoudToEverybodyInTheRoomAt';
const longColumn = 'label_read_out_loud_to_everybody_in_the_room_at';
const longValue = '1_000_000_000_000';

const bothInTest = `      label: 'a label',\n      ${longName}: ${longValue},\n`;

type Edit = readonly [pattern: RegExp, replacement: string];

/** What each file on the page receives. A step of the schema is a new file. */
const edits: Readonly<Record<string, readonly Edit[] | string>> = {
  'packages/core/src/contract/job-fields.ts': [
    [
      /(?=\} as const satisfies Record<string, JobField>;)/,
      `  label: {
    column: 'label',
    type: 'text',
    nullable: true,
    setBy: 'caller',
    inRecord: true,
    inClaim: true,
    shared: false,
    json: 'label',
    doc: 'A word of its task.',
  },
  ${longName}: {
    column: '${longColumn}',
    type: 'instant',
    nullable: true,
    setBy: 'caller',
    inRecord: true,
    inClaim: true,
    shared: false,
    json: '${longColumn}',
    doc: 'When its label was read out.',
  },
`,
    ],
  ],
  'packages/core/src/engines/postgres/sql/schema/<number>_<field>.sql': ['jobs', 'finished', 'dead']
    .flatMap((table) => [`${table} ADD COLUMN label text`, `${table} ADD COLUMN ${longColumn} bigint`])
    .map((change) => `ALTER TABLE duly.${change};\n`)
    .join(''),
  'packages/core/src/engines/sqlite/sql/schema/<number>_<field>.sql': ['jobs', 'finished']
    .flatMap((table) => [`${table} ADD COLUMN label TEXT`, `${table} ADD COLUMN ${longColumn} INTEGER`])
    .map((change) => `ALTER TABLE ${change};\n`)
    .join(''),
  'packages/core/src/jobs/create-job.ts': [
    [/(?<=export function createdFor[^>]*)(?=>)/, ` | 'label' | '${longName}'`],
    [
      /(?<=export function createdFor[\s\S]*?return \{\n)/,
      `    label: \`label of \${task.name}\`,\n    ${longName}: ${longValue},\n`,
    ],
  ],
  'packages/conformance/src/enqueue.ts': [
    [/(?<='every field of a job is read back[\s\S]*?jobSpec\(\{\n)/, bothInTest],
    [/(?<='every field of a job is read back[\s\S]*?deepEqual\(job, \{\n)/, bothInTest],
    [/(?<='a claimed job carries[\s\S]*?jobSpec\(\{\n)/, bothInTest],
    [/(?<='a claimed job carries[\s\S]*?deepEqual\(job, \{\n)/, bothInTest],
  ],
  'docs/reference/semantics.md': [
    [/$/, '\nThe **label** of a job is a word of its task, which may have been read out.\n'],
  ],
};

/** The files that the page lists. */
export function listedFiles(): string[] {
  const text = readFileSync(join(root, page), 'utf8');
  const section = text.split(/^(?=## )/m).find((part) => part.startsWith(`${heading}\n`));
  assert.ok(section, `${page} has lost its section "${heading}".`);
  return [...section.matchAll(/^\d+\. `([^`]+)`/gm)].map(([, file = '']) => file);
}

/** The files that `createLabelCopy` edits. */
export const editedFiles: readonly string[] = Object.keys(edits);

/** A copy with the field, in which everything was generated anew. */
export interface LabelCopy {
  folder: string;
  /** Runs a program of Node in the copy and returns what it prints. Fails with all output if the program fails. */
  node(...args: string[]): Promise<string>;
  remove(): void;
}

const run = promisify(execFile);
/** A program that waits for ever would hold the whole run. The longest one is a conformance suite. */
const timeout = 300_000;

/** Copies the repository, edits exactly these files and generates the rest. */
export async function createLabelCopy(files: readonly string[] = editedFiles): Promise<LabelCopy> {
  const folder = mkdtempSync(join(tmpdir(), 'duly-copy-'));
  const copy: LabelCopy = {
    folder,
    async node(...args) {
      try {
        const env = { ...process.env };
        // Set in a process of the test runner, where it would change what a test file prints.
        delete env['NODE_TEST_CONTEXT'];
        return (await run(process.execPath, args, { cwd: folder, env, maxBuffer: 1e8, timeout })).stdout;
      } catch (error) {
        const { stdout, stderr, killed } = error as { stdout: string; stderr: string; killed?: boolean };
        const how = killed === true ? 'ran for too long' : 'failed';
        throw new Error(`node ${args.join(' ')} ${how}:\n${stdout.slice(-8_000)}\n${stderr.slice(-8_000)}`);
      }
    },
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
  try {
    copyTree(folder);
    for (const file of files) applyEdit(folder, file);
    const { scripts } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
    for (const command of (scripts.generate as string).split(' && ')) {
      await copy.node(command.replace(/^node /, ''));
    }
    return copy;
  } catch (error) {
    copy.remove();
    throw error;
  }
}

function applyEdit(folder: string, file: string): void {
  const edit = edits[file];
  assert.ok(edit !== undefined, `${page} lists "${file}", which test/repo/label-copy.ts does not know.`);
  if (typeof edit === 'string') {
    const steps = join(folder, dirname(file));
    const number = String(globSync('*.sql', { cwd: steps }).length + 1).padStart(4, '0');
    writeFileSync(join(steps, `${number}_label.sql`), edit);
    return;
  }
  let text = readFileSync(join(folder, file), 'utf8');
  for (const [pattern, replacement] of edit) {
    assert.match(text, pattern, `${file} has changed: adapt the edits in test/repo/label-copy.ts.`);
    text = text.replace(pattern, () => replacement);
  }
  writeFileSync(join(folder, file), text);
}

/** Copies the source. Installed packages are linked, but those of this repository are the copies. */
function copyTree(folder: string): void {
  const skipped = new Set(['.git', 'node_modules', 'dist', 'screenshots']);
  cpSync(root, folder, { recursive: true, filter: (path) => !skipped.has(basename(path)) });
  link(join(root, 'node_modules'), join(folder, 'node_modules'));
  for (const own of globSync('packages/*/node_modules', { cwd: root })) {
    link(join(root, own), join(folder, own));
  }
  const names = globSync('packages/*/package.json', { cwd: root });
  for (const manifest of names) {
    const { name } = JSON.parse(readFileSync(join(root, manifest), 'utf8')) as { name: string };
    const target = join(folder, 'node_modules', name);
    rmSync(target, { force: true });
    symlinkSync(join(folder, dirname(manifest)), target, 'junction');
  }
}

/** Makes a folder whose entries are links to those of another one; so that single ones can be replaced. */
function link(from: string, to: string): void {
  mkdirSync(to);
  for (const name of readdirSync(from)) {
    if (name === '.cache') continue;
    if (name === '@duly') mkdirSync(join(to, name));
    else symlinkSync(join(from, name), join(to, name), 'junction');
  }
}
