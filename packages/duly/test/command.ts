/** Runs the real command in a folder of its own. */
import { type ChildProcess, type StdioOptions, spawn } from 'node:child_process';
import {
  closeSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';

const bin = fileURLToPath(new URL('../src/bin.ts', import.meta.url));
const packageFolder = fileURLToPath(new URL('..', import.meta.url));

/** What a command printed and how it ended. */
export interface Outcome {
  code: number | null;
  out: string;
  err: string;
}

/** A command that runs. */
export interface RunningCommand {
  /** Resolves with the first line of stdout that fits, among those not yet taken. */
  line(pattern: RegExp): Promise<string>;
  signal(name: NodeJS.Signals): void;
  /** Whoever reads its stdout, or its stderr, goes away. */
  leave(stream: 'stdout' | 'stderr'): void;
  /** Writes to its stdin. */
  answer(text: string): void;
  ended: Promise<Outcome>;
}

/** A folder to run commands in, removed after the test. */
export interface Folder {
  path: string;
  /** Writes files, by their paths in the folder. */
  write(files: Record<string, string>): void;
  /** Makes `import … from 'duly'` work in the folder. */
  linkPackage(): void;
  /** Runs a command to its end. */
  duly(...args: string[]): Promise<Outcome>;
  /** The same, with text on its stdin. */
  dulyWithInput(input: string, ...args: string[]): Promise<Outcome>;
  /** The same, with a file in the place of its stdout. */
  dulyInto(file: string, ...args: string[]): Promise<Outcome>;
  /** The same with `-o json`, parsed. */
  // biome-ignore lint/suspicious/noExplicitAny: tests look at what is there
  json(...args: string[]): Promise<any>;
  /** Starts a command that stays. It is killed after the test if it is still there. */
  start(...args: string[]): RunningCommand;
  /** Starts a command that stays, on a terminal of its own. */
  startOnTerminal(...args: string[]): RunningCommand;
  /** The key that the first `up` in this folder has written to a file; null: there is no such file. */
  firstKey(): string | null;
  /** Runs commands as this user, which needs root. */
  uid: number | undefined;
  /** The environment of commands, beside an empty one. */
  env: Record<string, string>;
}

/**
 * An environment with nothing in it but the programs, the folder for temporary files, and the code that this run has compiled: without it a
 * command takes a quarter more to start, and the tests start many hundreds.
 */
export function bareEnvironment(): Record<string, string> {
  const kept = ['PATH', 'TMPDIR', 'NODE_COMPILE_CACHE'];
  return Object.fromEntries(
    kept.flatMap((name) => (process.env[name] === undefined ? [] : [[name, process.env[name] as string]])),
  );
}

/** Makes a folder. */
export function createFolder(t: TestContext): Folder {
  const path = realpathSync(mkdtempSync(join(tmpdir(), 'duly-command-')));
  const children = new Set<ChildProcess>();
  t.after(async () => {
    for (const child of children) {
      child.kill('SIGKILL');
      if (child.exitCode === null && child.signalCode === null)
        await new Promise((done) => child.once('exit', done));
    }
    rmSync(path, { recursive: true, force: true });
  });

  function spawnIn(folder: Folder, args: string[], stdout: 'pipe' | number = 'pipe'): ChildProcess {
    const env = { ...bareEnvironment(), ...folder.env };
    const uid = folder.uid === undefined ? {} : { uid: folder.uid };
    const stdio: StdioOptions = ['pipe', stdout, 'pipe'];
    const child = spawn(process.execPath, [bin, ...args], { cwd: path, env, stdio, ...uid });
    children.add(child);
    child.once('exit', () => children.delete(child));
    return child;
  }

  const folder: Folder = {
    path,
    uid: undefined,
    env: {},
    write(files) {
      for (const [name, text] of Object.entries(files)) {
        mkdirSync(dirname(join(path, name)), { recursive: true });
        writeFileSync(join(path, name), text);
      }
    },
    linkPackage() {
      mkdirSync(join(path, 'node_modules'));
      symlinkSync(packageFolder, join(path, 'node_modules/duly'), 'dir');
    },
    duly: (...args) => folder.dulyWithInput('', ...args),
    dulyWithInput(input, ...args) {
      const child = spawnIn(folder, args);
      child.stdin?.end(input);
      return collect(child, () => {});
    },
    async dulyInto(file, ...args) {
      const opened = openSync(file, 'w');
      try {
        return await collect(spawnIn(folder, args, opened), () => {});
      } finally {
        closeSync(opened);
      }
    },
    async json(...args) {
      const { out, err, code } = await folder.duly(...args, '-o', 'json');
      if (out === '')
        throw new Error(`duly ${args.join(' ')} ended with ${code} and printed no JSON: ${err}`);
      return JSON.parse(out);
    },
    start: (...args) => follow(spawnIn(folder, args)),
    startOnTerminal(...args) {
      const words = [process.execPath, bin, ...args].map((word) => `'${word}'`).join(' ');
      const env = { ...bareEnvironment(), TERM: 'xterm', NO_COLOR: '1', ...folder.env };
      const child = spawn('script', ['--quiet', '--return', '--command', words, '/dev/null'], {
        cwd: path,
        env,
      });
      children.add(child);
      child.once('exit', () => children.delete(child));
      return follow(child);
    },
    firstKey() {
      const [file] = readdirSync(path).filter((name) => name.startsWith('duly-first-key-'));
      return file === undefined ? null : readFileSync(join(path, file), 'utf8').trim();
    },
  };
  return folder;
}

function follow(child: ChildProcess): RunningCommand {
  const lines: string[] = [];
  const waiting = new Set<{ pattern: RegExp; resolve(line: string): void }>();
  const look = (): void => {
    for (const one of [...waiting]) {
      const i = lines.findIndex((line) => one.pattern.test(line));
      if (i === -1) continue;
      waiting.delete(one);
      one.resolve(lines.splice(i, 1)[0] as string);
    }
  };
  const ended = collect(child, (line) => {
    lines.push(line);
    look();
  });
  return {
    line: (pattern) =>
      new Promise((resolve, reject) => {
        waiting.add({ pattern, resolve });
        look();
        void ended.then(({ code, out, err }) =>
          reject(new Error(`It ended with ${code} before a line fitted ${pattern}:\n${out}\n${err}`)),
        );
      }),
    signal: (name) => void child.kill(name),
    answer: (text) => void child.stdin?.write(text),
    leave: (stream) => void child[stream]?.destroy(),
    ended,
  };
}

function collect(child: ChildProcess, onLine: (line: string) => void): Promise<Outcome> {
  let out = '';
  let err = '';
  let taken = 0;
  child.stdout?.setEncoding('utf8').on('data', (text: string) => {
    out += text;
    for (let end = out.indexOf('\n', taken); end !== -1; end = out.indexOf('\n', taken)) {
      onLine(out.slice(taken, end));
      taken = end + 1;
    }
  });
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    err += text;
  });
  return new Promise((resolve) => child.once('close', (code) => resolve({ code, out, err })));
}

/** Tasks that end quickly, each in its own way. */
export const quickTasks = {
  'tasks/quick.mjs': `
    export const hello = { name: 'hello', run: ({ input, log }) => { log.info('Greeting ' + input + (input === 'Eve' ? '\\non two lines' : '')); return 'Hello ' + input; } };
    export const failing = { name: 'failing', retry: 1, run: () => { throw new TypeError('It cannot work.'); } };
    export const brief = { name: 'brief', startDeadline: '1ms', queue: 'brief', run: () => 'in time' };
  `,
};
