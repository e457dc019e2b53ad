// The client of a chaos run: makes promises, cancels and moves some, and writes down what was acknowledged and what was refused.

import { seededRandom } from '../../packages/core/src/base/random.ts';
import {
  Duly,
  isDulyError,
  type JobHandle,
  type PauseTarget,
  systemClock,
  type Task,
} from '../../packages/core/src/index.ts';
import { pauseKey } from '../../packages/core/src/jobs/pauses.ts';
import { isStoreTrouble, isUnknownOutcome } from '../../packages/core/src/store/batcher.ts';
import type { Asked, Transacted } from '../history.ts';
import { eventsOfCall } from '../recorder.ts';
import { type ClientCommand, notNowCode, type ProcessNews, type ProcessOptions } from './commands.ts';
import { watchHealth } from './health-watch.ts';
import { openHistoryFile } from './history-file.ts';
import { type OwnConnection, openOwn } from './own.ts';
import { ownNotes } from './own-notes.ts';
import { watchStoreSeam } from './store-seam.ts';
import { createStoreTime } from './store-time.ts';
import { type ChaosInput, defineChaosTasks } from './tasks.ts';

const options = JSON.parse(process.argv[2] as string) as ProcessOptions;
const node = options.name;
const history = openHistoryFile(options.histories, node);
const random = seededRandom(options.seed);
const time = createStoreTime();
let diesAt: Extract<ClientCommand, { kind: 'die' }>['at'] | null = null;
let isOver = false;
let lastCall = options.firstCall;

/** Ends this process if it was told to do so here. */
function pass(point: NonNullable<typeof diesAt>): void {
  if (diesAt !== point) return;
  history.write({ kind: 'fault', at: time.now(), node, fault: 'killed', detail: point });
  process.kill(process.pid, 'SIGKILL');
}

watchStoreSeam({
  asked() {},
  answered(verb, input, reply: { now: number }) {
    time.received(reply.now);
    for (const event of eventsOfCall(node, verb, input, reply as never)) history.write(event);
    if (verb === 'enqueue') pass('after enqueue');
  },
  failed(verb, code) {
    history.write({ kind: 'fault', at: time.now(), node, fault: 'call-failed', detail: `${verb}: ${code}` });
    if (process.connected) process.send?.({ kind: 'failed', verb, code } satisfies ProcessNews);
  },
  beginning() {},
  begun() {},
});

const duly = new Duly({ store: options.store, app: 'chaos-client' });
const tasks = defineChaosTasks(duly, { listener: null, declares: false, store: options.store });
/** Whether a transaction of the program's own is open. */
let isTransacting = false;
/** Some that were acknowledged, to be cancelled or moved. */
const known: JobHandle[] = [];

// Older ones are over as a rule, and a cancel of them would do nothing.
const knownCountMax = 40;
// About one in two seconds.
const burstEvery = 80;
const upTo = (count: number) => Math.floor(random.next() * count);

/** Makes a call, and writes down that it was asked and what the answer was. Never throws. */
async function call(
  what: string,
  subject: string | null,
  create: () => Promise<JobHandle | null>,
  wants?: Asked['wants'],
): Promise<JobHandle | null> {
  const number = ++lastCall;
  const wanted = wants === undefined ? {} : { wants };
  history.write({ kind: 'asked', at: time.now(), node, call: number, what, subject, ...wanted });
  try {
    const job = await create();
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
      // What was folded was promised before.
      ...(job?.dueAt && !job.deduped ? { dueAt: job.dueAt.getTime() } : {}),
    });
    return job;
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
    return null;
  }
}

/** Makes a job: now, or at an instant, or after a delay. Its input names the call, so that nobody's is taken for another's. */
function promise(
  task: Task,
  input: ChaosInput,
  { at, inMs, ...more }: { at?: number; inMs?: number; serial?: string; dedupe?: { key: string } } = {},
): Promise<JobHandle | null> {
  const number = lastCall + 1;
  const given = { ...input, call: number };
  const options = { metadata: { call: number }, ...more };
  const what = at !== undefined ? 'at' : inMs !== undefined ? 'in' : 'now';
  const create = (): Promise<JobHandle> => {
    if (at !== undefined) return task.at(at, given, options);
    return inMs !== undefined ? task.in(inMs, given, options) : task.now(given, options);
  };
  const wants = { input: JSON.stringify(given), inMs: inMs ?? null, dueAt: at ?? null };
  return call(what, null, create, wants);
}

/** One promise, or one change of a promise, as chance has it. The number of the call is kept with the job. */
function next(): Promise<unknown> {
  const forMs = 20 + upTo(120);
  switch (upTo(21)) {
    case 16:
      // In line behind the others of its key: some start in time and some do not.
      return promise(tasks.hasty, { forMs: 150 + upTo(250) }, { serial: 'hasty', inMs: upTo(600) });
    case 17:
      return promise(tasks.journal, { forMs: 40 + upTo(400), throwCount: upTo(3) });
    case 10:
      return transact();
    case 11:
      return promise(tasks.charge, { forMs: upTo(400), throwCount: upTo(2) });
    case 12:
      return value();
    case 13:
      return once();
    case 14:
      return upTo(10) === 0 ? pause() : Promise.resolve();
    case 15:
      return upTo(10) === 0 ? askedToStop() : Promise.resolve();
    case 0:
    case 1:
      return promise(tasks.slow, { forMs: 300 + upTo(1_200) });
    case 2:
      return promise(tasks.flaky, { forMs, throwCount: 1 + upTo(4) });
    case 3:
      return promise(tasks.fragile, { forMs });
    case 4:
      return promise(tasks.serial, { forMs: 30 }, { serial: `key-${upTo(3)}` });
    case 5:
      return promise(tasks.quick, { forMs: 0 }, { at: Math.round(time.now()) + upTo(2_000) });
    case 6:
    case 7:
      return promise(tasks.quick, { forMs: 0 }, { inMs: upTo(2_500) });
    case 8: {
      const job = known[upTo(known.length)];
      if (job === undefined) return Promise.resolve();
      return call('cancel', job.id, () => job.cancel().then(() => null));
    }
    case 9:
      return promise(tasks.quick, { forMs: 5 }, { dedupe: { key: `key-${upTo(5)}` } });
    default:
      return promise(tasks.quick, { forMs: 0 });
  }
}

// Longer than anybody waits for a signal.
const longMs = 20_000;

/** Jobs whose handlers would take long: one that may not, and one that is asked to cancel once it runs. */
async function askedToStop(): Promise<void> {
  if (upTo(2) === 0) {
    await promise(tasks.hurried, { forMs: longMs });
    return;
  }
  const job = await promise(tasks.patient, { forMs: longMs });
  await systemClock.sleep(500 + upTo(1_000));
  if (job !== null) await call('cancel', job.id, () => job.cancel().then(() => null));
}

/** Makes jobs in a transaction of the program's own, which is committed, rolled back, or ends with the process. */
async function transact(): Promise<void> {
  if (isTransacting) return;
  isTransacting = true;
  let own: OwnConnection | null = null;
  try {
    const notes = ownNotes({ name: node, node: () => node, now: time.now, write: history.write });
    own = await openOwn(options.store, notes);
    await own.begin();
    await fillTransaction(own);
  } catch {
    // The store was locked, full or away before it began, or its end is noted.
  } finally {
    own?.close();
    isTransacting = false;
  }
}

async function fillTransaction(own: OwnConnection): Promise<void> {
  const tx = ++lastCall;
  const note = (state: Transacted['state'], ids: string[] = []) =>
    history.write({ kind: 'transacted', at: time.now(), node, tx, state, ids });
  note('begun');
  let isCommitting = false;
  try {
    await own.mark(tx);
    const inputs = Array.from({ length: 1 + upTo(4) }, () => ({ forMs: 0 }));
    const jobs = await tasks.quick.nowMany(inputs, { tx: own.tx });
    const keyed = await tasks.quick.now({ forMs: 0 }, { tx: own.tx, dedupe: { key: `key-${upTo(5)}` } });
    note(
      'created',
      [...jobs, keyed].filter(({ deduped }) => !deduped).map(({ id }) => id),
    );
    // Others wait meanwhile.
    if (upTo(3) === 0) await systemClock.sleep(upTo(150));
    pass('in a transaction');
    if (upTo(3) === 0) {
      await own.rollBack();
      note('rolledBack');
      return;
    }
    isCommitting = true;
    note('committing');
    await own.commit();
    pass('after a commit');
    note('committed');
  } catch (error) {
    const code = isDulyError(error) ? error.code : String(error);
    const detail = `transaction: ${code}`;
    history.write({ kind: 'fault', at: time.now(), node, fault: 'call-failed', detail });
    await own.rollBack();
    // A commit that a server did not answer may have been done.
    if (!isCommitting) note('rolledBack');
  }
}

/** Puts a value under a key of its own, and moves or removes it or lets it end. */
async function value(): Promise<void> {
  const key = `value-${lastCall + 1}`;
  const subject = `chaos/${key}`;
  const { values } = tasks;
  const step = (run: () => Promise<unknown>) => call('value', subject, () => run().then(() => null));
  await step(() => values.put(key, lastCall, { for: 300 + upTo(2_000) }));
  const what = upTo(4);
  if (what === 0) await step(() => values.delete(key));
  if (what === 1) await step(() => values.extend(key, { for: 300 + upTo(2_000) }));
  await step(() => values.get(key));
}

/** Two at once, of which one may find what others recorded before. */
async function once(): Promise<void> {
  const key = upTo(2) === 0 ? `shared-${upTo(5)}` : `own-${lastCall}`;
  const note = (state: 'ran' | 'given', text: string) =>
    history.write({ kind: 'once', at: time.now(), node, key, state, value: text });
  const ask = () =>
    call('once', `once/${key}`, async () => {
      const given = await duly.once(key, { ttl: '2s' }, async ({ fence }) => {
        note('ran', JSON.stringify(fence));
        await systemClock.sleep(upTo(50));
        return fence;
      });
      note('given', JSON.stringify(given));
      return null;
    });
  await Promise.all([ask(), ask()]);
}

/** Pauses what may be paused for a moment; some are let go on before. */
async function pause(): Promise<void> {
  const target = [{ type: 'flaky' }, { queue: 'default' }, { all: true } as const][upTo(3)] as PauseTarget;
  const key = pauseKey(target);
  await call('pauseClaims', key, () => duly.pause(target, { until: time.now() + 2_500 }).then(() => null));
  await systemClock.sleep(upTo(800));
  if (upTo(2) === 0) await call('resumeClaims', key, () => duly.resume(target).then(() => null));
}

/** Many at once that end together: what is claimed and settled in lists is written by other statements than single jobs. */
async function burst(): Promise<void> {
  const steadyMs = upTo(4) * 150;
  await Promise.all(Array.from({ length: 20 + upTo(20) }, () => promise(tasks.quick, { steadyMs })));
}

process.on('SIGXFSZ', () => {});
process.on('message', (command: ClientCommand) => {
  if (command.kind === 'finish') isOver = true;
  else diesAt = command.at;
});

try {
  await duly.open();
  // The store's time must be known before anything is promised: this process's own clock may be an hour wrong.
  await duly.counts();
} catch (error) {
  if (!isStoreTrouble(error)) throw error;
  console.error(error);
  process.exit(notNowCode);
}
process.send?.({ kind: 'ready', node } satisfies ProcessNews);
const watch = watchHealth({ duly, hasNodes: false, write: history.write, now: time.now, node: () => node });
/** Calls on their way; a store that does not answer is not asked more and more. */
const flying = new Set<Promise<unknown>>();
while (!isOver) {
  const one: Promise<unknown> = (upTo(burstEvery) === 0 ? burst() : next()).finally(() => flying.delete(one));
  flying.add(one);
  if (flying.size >= 20) await Promise.race(flying);
  await systemClock.sleep(5 + upTo(40));
}
watch.stop();
await Promise.all(flying);
await duly.stop();
process.send?.({ kind: 'finished' } satisfies ProcessNews);
process.disconnect();
