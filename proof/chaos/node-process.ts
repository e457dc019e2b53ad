// One node of a chaos run: all roles, its history at the seam of its store, and a way to be taken down at a named point.
import { Duly } from '../../packages/core/src/index.ts';
import { isStoreTrouble } from '../../packages/core/src/store/batcher.ts';
import { recorded } from '../handler-notes.ts';
import { eventsOfCall } from '../recorder.ts';
import { type NodeCommand, notNowCode, type ProcessNews, type ProcessOptions } from './commands.ts';
import { watchHealth } from './health-watch.ts';
import { openHistoryFile } from './history-file.ts';
import type { KillPoint } from './kill-points.ts';
import { ownNotes } from './own-notes.ts';
import { watchStoreSeam } from './store-seam.ts';
import { createStoreTime } from './store-time.ts';
import { defineChaosTasks } from './tasks.ts';

const options = JSON.parse(process.argv[2] as string) as ProcessOptions;
const history = openHistoryFile(options.histories, options.name);
const time = createStoreTime();
const concurrency = 12;
/** The id that the store knows this node by, after its first heartbeat. */
let node = options.name;
let endAt: KillPoint | null = null;
let signal: 'SIGKILL' | 'SIGSTOP' = 'SIGKILL';

/** Ends or stops this process if it was told to do so here. */
function pass(point: KillPoint, isReached = true): void {
  if (endAt !== point || !isReached) return;
  endAt = null;
  const fault = signal === 'SIGKILL' ? 'killed' : 'stopped';
  history.write({ kind: 'fault', at: time.now(), node, fault, detail: point });
  process.kill(process.pid, signal);
}

/** From its first heartbeat on, which comes before it takes anything. */
function nameNode(id: string): void {
  if (node === id) return;
  node = id;
  const { roles } = options;
  history.write({ kind: 'node', at: time.now(), node, state: 'up', concurrency, roles });
}

watchStoreSeam({
  asked(
    verb,
    input: { heartbeat?: { id: string } | null; settle?: unknown[]; groups?: { slots?: unknown[] }[] },
  ) {
    if (verb === 'nodes' && input.heartbeat) nameNode(input.heartbeat.id);
    if (verb === 'exchange') pass('before settle', (input.settle?.length ?? 0) > 0);
    if (verb === 'fire') pass('between plan and fire');
  },
  answered(
    verb,
    input,
    reply: { now: number; claimed?: { claimedAt: number }[]; settled?: unknown[]; jobs?: unknown[] },
  ) {
    time.received(reply.now);
    // A call goes by the instant at which it began; what it took it may have taken later.
    for (const { claimedAt } of reply.claimed ?? []) time.received(claimedAt);
    for (const event of eventsOfCall(node, verb, input, reply as never)) history.write(event);
    pass('after claim', (reply.claimed?.length ?? 0) > 0);
    if (verb === 'exchange') pass('after settle', (reply.settled?.length ?? 0) > 0);
    if (verb === 'fire') pass('after fire');
    if (verb === 'reap') pass('after reap', (reply.jobs?.length ?? 0) > 0);
  },
  failed(verb, code) {
    // By its own name: one failed call is no excuse for a lost lease.
    const who = options.name;
    history.write({
      kind: 'fault',
      at: time.now(),
      node: who,
      fault: 'call-failed',
      detail: `${verb}: ${code} ${node}`,
    });
    if (process.connected) process.send?.({ kind: 'failed', verb, code } satisfies ProcessNews);
  },
  beginning: () => pass('before begin'),
  begun: () => pass('after begin'),
});

const duly = new Duly({
  store: options.store,
  app: 'chaos',
  lease: options.leaseMs,
  concurrency,
  drain: '5s',
});
defineChaosTasks(duly, {
  declares: true,
  store: options.store,
  listener: {
    recorded: (run) =>
      recorded(
        // Its name is known from its first heartbeat on.
        () => ({
          name: node,
          storeAt: time.now,
          write: history.write,
          onEnded: () => pass('after handler'),
        }),
        run,
      ),
    passed: (point) => pass(point),
    own: () => ownNotes({ name: options.name, node: () => node, now: time.now, write: history.write }),
    stepped: (step) => history.write({ kind: 'once', at: time.now(), node, ...step }),
  },
});

process.on('message', (command: NodeCommand) => {
  if (command.kind === 'end') {
    endAt = command.at;
    signal = command.signal;
    return;
  }
  // Nothing of the main thread turns meanwhile: no timer, no message, no handler.
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, command.forMs);
});
// A file that cannot grow must be an error of a write, not the end of the process.
process.on('SIGXFSZ', () => {});
process.on('exit', () => history.write({ kind: 'node', at: time.now(), node, state: 'stopped' }));

try {
  await duly.start({ signals: true, roles: options.roles });
} catch (error) {
  if (!isStoreTrouble(error)) throw error;
  // It says with a code that the store is full or locked just now; whoever started it tries again.
  console.error(error);
  process.exit(notNowCode);
}
process.send?.({ kind: 'ready', node } satisfies ProcessNews);
// Nobody else may listen for SIGTERM here, or the process would not end by it: what is noted after its end does no harm.
watchHealth({ duly, hasNodes: true, write: history.write, now: time.now, node: () => node });
