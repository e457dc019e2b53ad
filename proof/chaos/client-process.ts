// The client of a chaos run: makes promises, cancels and moves some, and writes down what was acknowledged and what was refused.
import { Duly, isDulyError, type JobHandle, systemClock } from '../../packages/core/src/index.ts';
import { isStoreTrouble, isUnknownOutcome } from '../../packages/core/src/pipe.ts';
import { seededRandom } from '../../packages/core/src/random.ts';
import { eventsOfCall } from '../recorder.ts';
import { type ClientCommand, notNowCode, type ProcessNews, type ProcessOptions } from './commands.ts';
import { openHistoryFile } from './history-file.ts';
import { watchStoreSeam } from './store-seam.ts';
import { createStoreTime } from './store-time.ts';
import { defineChaosTasks } from './tasks.ts';

const options = JSON.parse(process.argv[2] as string) as ProcessOptions;
const node = options.name;
const history = openHistoryFile(options.histories, node);
const random = seededRandom(options.seed);
const time = createStoreTime();
let dies = false;
let isOver = false;
let lastCall = options.firstCall;

watchStoreSeam({
  asked() {},
  answered(verb, input, reply: { now: number }) {
    time.heard(reply.now);
    for (const event of eventsOfCall(node, verb, input, reply as never)) history.write(event);
    if (!dies || verb !== 'enqueue') return;
    history.write({ kind: 'fault', at: time.now(), node, fault: 'killed', detail: 'after enqueue' });
    process.kill(process.pid, 'SIGKILL');
  },
  failed(verb, code) {
    history.write({ kind: 'fault', at: time.now(), node, fault: 'call-failed', detail: `${verb}: ${code}` });
    if (process.connected) process.send?.({ kind: 'failed', verb, code } satisfies ProcessNews);
  },
  beginning() {},
  begun() {},
});

const duly = new Duly({ store: options.store, app: 'chaos-client' });
const tasks = defineChaosTasks(duly, { listener: null, declares: false });
/** Some that were acknowledged, to be cancelled or moved. */
const known: JobHandle[] = [];

// Older ones are over as a rule, and a cancel of them would do nothing.
const knownCountMax = 40;
// About one in two seconds.
const burstEvery = 80;
const upTo = (count: number) => Math.floor(random.next() * count);

/** Makes a call, and writes down that it was asked and what the answer was. Never throws. */
async function call(what: string, subject: string | null, make: () => Promise<JobHandle | null>) {
  const number = ++lastCall;
  history.write({ kind: 'asked', at: time.now(), node, call: number, what, subject });
  try {
    const job = await make();
    if (job !== null && !job.deduped) known.push(job);
    if (known.length > knownCountMax) known.shift();
    history.write({
      kind: 'answered',
      at: time.now(),
      node,
      call: number,
      what,
      outcome: 'acknowledged',
      subject: job?.id ?? subject,
      ...(job?.dueAt ? { dueAt: job.dueAt.getTime() } : {}),
    });
  } catch (error) {
    history.write({
      kind: 'answered',
      at: time.now(),
      node,
      call: number,
      what,
      outcome: isUnknownOutcome(error) || !isDulyError(error) ? 'unknown' : 'refused',
      subject,
      code: isDulyError(error) ? error.code : `without a code: ${String(error)}`,
    });
  }
}

/** One promise, or one change of a promise, as chance has it. The number of the call is kept with the job. */
function next(): Promise<void> {
  const marked = { metadata: { call: lastCall + 1 } };
  const forMs = 20 + upTo(120);
  switch (upTo(12)) {
    case 0:
    case 1:
      return call('now', null, () => tasks.slow.now({ forMs: 300 + upTo(1_200) }, marked));
    case 2:
      return call('now', null, () => tasks.flaky.now({ forMs, throwCount: 1 + upTo(4) }, marked));
    case 3:
      return call('now', null, () => tasks.fragile.now({ forMs }, marked));
    case 4:
      return call('now', null, () =>
        tasks.serial.now({ forMs: 30 }, { ...marked, serial: `key-${upTo(3)}` }),
      );
    case 5:
      return call('at', null, () =>
        tasks.quick.at(Math.round(time.now()) + upTo(2_000), { forMs: 0 }, marked),
      );
    case 6:
    case 7:
      return call('in', null, () => tasks.quick.in(upTo(2_500), { forMs: 0 }, marked));
    case 8: {
      const job = known[upTo(known.length)];
      if (job === undefined) return Promise.resolve();
      return call('cancel', job.id, () => job.cancel().then(() => null));
    }
    case 9: {
      const key = `key-${upTo(5)}`;
      return call('now', null, () => tasks.quick.now({ forMs: 5 }, { ...marked, dedupe: { key } }));
    }
    default:
      return call('now', null, () => tasks.quick.now({ forMs: 0 }, marked));
  }
}

/** Many at once that end together: what is claimed and settled in lists is written by other statements than single jobs. */
async function burst(): Promise<void> {
  const steadyMs = upTo(4) * 150;
  const calls = Array.from({ length: 20 + upTo(20) }, () => {
    const marked = { metadata: { call: lastCall + 1 } };
    return call('now', null, () => tasks.quick.now({ steadyMs }, marked));
  });
  await Promise.all(calls);
}

process.on('SIGXFSZ', () => {});
process.on('message', (command: ClientCommand) => {
  if (command.kind === 'finish') isOver = true;
  else dies = true;
});

try {
  await duly.open();
} catch (error) {
  if (!isStoreTrouble(error)) throw error;
  console.error(error);
  process.exit(notNowCode);
}
process.send?.({ kind: 'ready', node } satisfies ProcessNews);
/** Calls on their way; a store that does not answer is not asked more and more. */
const flying = new Set<Promise<void>>();
while (!isOver) {
  const one = (upTo(burstEvery) === 0 ? burst() : next()).finally(() => flying.delete(one));
  flying.add(one);
  if (flying.size >= 20) await Promise.race(flying);
  await systemClock.sleep(5 + upTo(40));
}
await Promise.all(flying);
await duly.stop();
process.send?.({ kind: 'finished' } satisfies ProcessNews);
process.disconnect();
