// A network namespace with one wire to this machine, on which packets can be lost without a word. Linux, as root.

import { spawnSync } from 'node:child_process';

/** A namespace at the end of a wire. */
export interface Wire {
  /** The address of this machine on the wire: what listens there is reached from inside. */
  readonly hostAddress: string;
  /** What a program is started with to be inside. */
  readonly command: readonly string[];
  /** From now on every packet that leaves a side is lost. Nobody is told: no error, no reset. */
  lose(what: 'to the host' | 'from the host' | 'both ways'): void;
  /** Delays packets and loses a share of them; false: this kernel cannot (it has no netem). */
  slow(delayMs: number, lossPercent: number): boolean;
  /** The wire is as new. */
  mend(): void;
  stop(): void;
}

function run(...command: string[]): boolean {
  const [program, ...args] = command as [string, ...string[]];
  return spawnSync(program, args, { stdio: 'ignore' }).status === 0;
}

function must(...command: string[]): void {
  if (!run(...command)) throw new Error(`"${command.join(' ')}" failed.`);
}

let wireCount = 0;

/** Makes a wire; null: this user or this machine cannot make any. */
export function startWire(): Wire | null {
  if (process.platform !== 'linux' || process.getuid?.() !== 0) return null;
  const number = wireCount++;
  const name = `duly-${process.pid}-${number}`;
  // At most 15 signs, and no other process has them.
  const host = `dh${process.pid}x${number}`.slice(-15);
  const inside = 'wire0';
  if (!run('ip', 'netns', 'add', name)) return null;
  // A network of four addresses for each, by the process, so that runs beside each other do not meet.
  const net = `10.${128 + ((process.pid >> 8) & 127)}.${process.pid & 255}`;
  const [hostAddress, insideAddress] = [`${net}.${number * 4 + 1}`, `${net}.${number * 4 + 2}`];
  const stop = () => {
    run('ip', 'netns', 'del', name);
    process.off('exit', stop);
  };
  process.on('exit', stop);
  const isCreated =
    run('ip', 'link', 'add', host, 'type', 'veth', 'peer', 'name', inside, 'netns', name) &&
    run('ip', 'addr', 'add', `${hostAddress}/30`, 'dev', host) &&
    run('ip', 'link', 'set', host, 'up') &&
    run('ip', '-n', name, 'addr', 'add', `${insideAddress}/30`, 'dev', inside) &&
    run('ip', '-n', name, 'link', 'set', inside, 'up') &&
    run('ip', '-n', name, 'link', 'set', 'lo', 'up');
  if (!isCreated) {
    stop();
    return null;
  }
  // Nobody on the wire has it: the other side throws away what is sent there, as a dead cable would.
  const nobody = ['lladdr', '02:00:00:00:00:99', 'nud', 'permanent'];
  return {
    hostAddress,
    command: ['nsenter', `--net=/run/netns/${name}`],
    lose(what) {
      if (what !== 'from the host')
        must('ip', '-n', name, 'neigh', 'replace', hostAddress, 'dev', inside, ...nobody);
      if (what !== 'to the host') must('ip', 'neigh', 'replace', insideAddress, 'dev', host, ...nobody);
    },
    slow(delayMs, lossPercent) {
      const netem = ['netem', 'delay', `${delayMs}ms`, 'loss', `${lossPercent}%`];
      return run('tc', 'qdisc', 'replace', 'dev', host, 'root', ...netem);
    },
    mend() {
      run('ip', '-n', name, 'neigh', 'del', hostAddress, 'dev', inside);
      run('ip', 'neigh', 'del', insideAddress, 'dev', host);
      run('tc', 'qdisc', 'del', 'dev', host, 'root');
    },
    stop,
  };
}
