/** A chaos run: real processes on one store, faults chosen by a seed, and the checker over what they wrote. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '../../packages/core/src/base/clock.ts';
import { type Random, seededRandom } from '../../packages/core/src/base/random.ts';
import type { CountsReply, Engine } from '../../packages/core/src/contract/engine.ts';
import { isTerminal, type JobStatus } from '../../packages/core/src/contract/job-status.ts';
import { openEngine } from '../../packages/core/src/store/open-engine.ts';
import { check, invariants, type Violation } from '../checker/index.ts';
import {
  type Evidence,
  type HistoryEvent,
  mergeHistories,
  type OwnRows,
  readFinalState,
  serialiseHistory,
  subjectsOf,
} from '../history.ts';
import { predict } from '../model/predict.ts';
import { describe } from '../simulation/trace.ts';
import type { FaultKind, World } from './faults/fault.ts';
import { processFaults } from './faults/process-faults.ts';
import { createFleet, type Fleet, type FleetProcess } from './fleet.ts';
import type { Ground, GroundOptions } from './ground.ts';
import { reportedDuring } from './health-reports-truth.ts';
import { openHistoryFile, readHistoryFiles } from './history-file.ts';
import { recoveries } from './moves-again.ts';
import { createOwnTables, openOwn } from './own.ts';
import { ownLocks } from './own-notes.ts';
import { realInvariants } from './real-invariants.ts';
import { type Stall, stalledMsOf, watchStalls } from './stalls.ts';
import { createStoreTime } from './store-time.ts';

/** How to run. */
export interface ChaosOptions {
  /** How long faults are made; every kind strikes at least once, however short. */
  minutes: number;
  seed: number;
  /** Makes what it stands on. */
  ground(options: GroundOptions): Ground | Promise<Ground>;
  /** Told once, when it is known that what was asked for can be done. */
  begin?(): void;
  /** Told what happens, for people. */
  say?(line: string): void;
  /** Only faults of these names; default all. */
  only?: RegExp;
  /** Ends the run before its time: everything is ended and removed, and `runChaos` throws the signal's reason. */
  signal?: AbortSignal;
  /** Does something to the store before anything is asked of it. */
  prepare?(store: string): Promise<void>;
}

/** None of the faults that a ground has is among those that were asked for. */
export class NoSuchFault extends Error {
  constructor(only: RegExp, names: readonly string[]) {
    super(
      `Expected --only to match at least one fault, got "${only.source}". The faults are:\n${names.map((name) => `  ${name}`).join('\n')}`,
    );
  }
}

/** What came of a run. */
export interface ChaosReport {
  seed: number;
  minutes: number;
  nodeCount: number;
  tookMs: number;
  /** The engine, as it is asked for on the command line. */
  engine: string;
  /** Which faults were asked for; null: all. */
  only: string | null;
  /** How faults are made on this machine. */
  notes: Ground['notes'];
  /** By name: how often it was made and how often it struck. */
  faults: Map<string, { created: number; struck: number }>;
  /** How often each code was met, by `verb: code`. */
  failures: ReadonlyMap<string, number>;
  jobs: Record<string, number>;
  calls: { acknowledged: number; refused: number; unknown: number; unanswered: number };
  slots: Record<string, number>;
  lostAttempts: number;
  /** Transactions of the program's own, by how they ended; `killed`: with their process. */
  transactions: Record<string, number>;
  /** Writes of schedules that were noted, and those of them that the model predicted; null: it cannot tell on this store. */
  decisions: { noted: number; predicted: number } | null;
  /** Exchanges that settled four or more as completed, and those of them in which one was lost. */
  lists: { count: number; withLost: number };
  /** After what, and how long until an attempt was settled again. */
  recoveries: { after: string; tookMs: number }[];
  /** How long the machine kept the run from going on; what was lost then is nobody's fault. */
  stalledMs: number;
  /** How long that was watched. */
  watchedMs: number;
  /** Answers of health and readiness that were asked for and given while no write could be confirmed. */
  healthDuringOutages: Record<string, number>;
  violations: Violation[];
  /** Where everything lies; null: nothing was wrong, and it was removed. */
  folder: string | null;
  /** The events about what was violated. */
  excerpt: string;
}

const closingMs = 30_000;
const gaveUpCountMax = 3;

/** Runs it. */
export async function runChaos(options: ChaosOptions): Promise<ChaosReport> {
  const { seed, say = () => {} } = options;
  const random = seededRandom(seed);
  const sinceElapsed = systemClock.elapsed();
  const folder = mkdtempSync(join(tmpdir(), `duly-chaos-${seed}-`));
  const histories = join(folder, 'histories');
  mkdirSync(histories);
  const ground = await options.ground({ folder, random });
  const { leaseMs } = ground;
  const time = createStoreTime();
  const history = openHistoryFile(histories, 'run');
  let isOver = false;
  const reviving = new Set<Promise<void>>();
  const fleet = createFleet({
    folder,
    seat: ground.seat,
    histories,
    leaseMs,
    seed,
    write: history.write,
    now: time.now,
    onEnded(one) {
      if (isOver || fleet.failed.length > gaveUpCountMax) return;
      const revived = revive(fleet, one, random, () => isOver).finally(() => reviving.delete(revived));
      reviving.add(revived);
    },
  });
  const stalled: Stall[] = [];
  const watchedSinceElapsed = systemClock.elapsed();
  const stalls = watchStalls({
    leaseMs,
    folder,
    pids: () => [...fleet.processes].flatMap(({ child }) => child.pid ?? []),
    report(fromAt, untilAt) {
      stalled.push({ fromAt, untilAt });
      history.write({ kind: 'fault', at: fromAt, node: '*', fault: 'machine-stalled', untilAt });
    },
  });
  const duringFaults: Violation[] = [];
  const world: World = {
    fleet,
    leaseMs,
    clock: systemClock,
    random,
    write: history.write,
    now: time.now,
    fail: (invariant, message) => void duringFaults.push({ invariant, subjects: [], message }),
    waitsFor() {},
  };
  const nodeCount = 3 + Math.floor(random.next() * 3);
  const { only = /./ } = options;
  const allKinds = [...processFaults(ground), ...ground.faults];
  const kinds = allKinds.filter(({ name }) => only.test(name));
  const faults: ChaosReport['faults'] = new Map(kinds.map(({ name }) => [name, { created: 0, struck: 0 }]));
  let isKept = true;
  async function play(): Promise<ChaosReport> {
    if (kinds.length === 0)
      throw new NoSuchFault(
        only,
        allKinds.map(({ name }) => name),
      );
    options.begin?.();
    await fleet.start('node');
    await createOwnTables(ground.store());
    await options.prepare?.(ground.store());
    await Promise.all(Array.from({ length: nodeCount - 1 }, () => fleet.start('node')));
    await fleet.start('client');
    await createFaults(world, { kinds, untilElapsed: sinceElapsed + options.minutes * 60_000, faults, say });
    // Whoever is asked to end must be there to hear it.
    while (reviving.size > 0) await Promise.all(reviving);
    isOver = true;
    const engine = await openEngine(`${ground.store()}&inline=1`);
    const { stoppedAt, problems } = await close(fleet, engine, say);
    await stalls.stop();
    const watchedMs = systemClock.elapsed() - watchedSinceElapsed;
    history.close();
    const noted = readHistoryFiles(histories);
    const evidence: Evidence = {
      events: mergeHistories([noted, ownLocks(noted, leaseMs / 4)]),
      // Slots were decided until the schedulers were asked to end; jobs were done until now.
      final: { ...(await readFinalState(engine, [])), at: stoppedAt, own: await readOwnRows(ground.store()) },
      isComplete: false,
      isSettled: true,
      unorderedMs: ground.unorderedMs,
    };
    await engine.close();
    const gaveUp = fleet.failed.map((message) => ({ invariant: 'nobody-gives-up', subjects: [], message }));
    const violations = [
      ...duringFaults,
      ...problems,
      ...gaveUp,
      ...check(evidence, [...invariants, ...realInvariants]),
      ...(await ground.check()),
    ];
    isKept = violations.length > 0;
    const report = {
      ...summarise(evidence),
      seed,
      minutes: options.minutes,
      nodeCount,
      tookMs: systemClock.elapsed() - sinceElapsed,
      engine: ground.engine,
      only: options.only?.source ?? null,
      notes: ground.notes,
      faults,
      failures: fleet.failures,
      recoveries: recoveries(evidence).flatMap(({ fault, tookMs }) =>
        tookMs === null ? [] : [{ after: fault.detail ?? '', tookMs }],
      ),
      stalledMs: stalledMsOf(stalled),
      watchedMs,
      healthDuringOutages: count(reportedDuring(evidence.events).map(({ reported }) => reported.of)),
      violations,
      folder: isKept ? folder : null,
      excerpt: excerptOf(evidence, violations),
    };
    if (isKept) writeFileSync(join(folder, 'history.jsonl'), serialiseHistory(evidence.events));
    return report;
  }
  try {
    return await unlessAborted(play, options.signal);
  } catch (error) {
    // Nothing went wrong: there is nothing to look at.
    isKept = !(error instanceof NoSuchFault || options.signal?.aborted);
    if (!isKept) throw error;
    throw new Error(
      `Chaos with seed ${seed} could not go on: ${(error as Error).message} Everything lies in ${folder}.`,
      { cause: error },
    );
  } finally {
    isOver = true;
    await stalls.stop();
    await fleet.killAll();
    // One that was about to be started again may be there only now.
    await Promise.all(reviving);
    await fleet.killAll();
    await ground.close({ keep: isKept });
    if (!isKept) rmSync(folder, { recursive: true, force: true });
  }
}

/** Gives up what goes on when the signal is aborted; what it still does then is the caller's to end. */
async function unlessAborted<T>(play: () => Promise<T>, signal?: AbortSignal): Promise<T> {
  if (signal === undefined) return play();
  signal.throwIfAborted();
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const abort = () => reject(signal.reason);
  signal.addEventListener('abort', abort, { once: true });
  return Promise.race([play(), aborted]).finally(() => signal.removeEventListener('abort', abort));
}

/** As a supervisor does: whoever died is started again, after a moment. */
async function revive(
  fleet: Fleet,
  { role }: FleetProcess,
  random: Random,
  isOver: () => boolean,
): Promise<void> {
  await systemClock.sleep(random.next() * 400);
  if (isOver()) return;
  // What it died of is told with the others.
  await fleet.start(role).catch(() => {});
}

// The longest takes half a minute on a machine that has little else to do: a new standby is made. After this one stands still.
const strikeMsMax = 120_000;
// A point that nobody passed in time is waited for again; one that nobody ever passes must not keep the run for ever.
const tryCountMax = 4;

/** First every kind once, in an order that the seed gives, and those that did not strike again; then whatever chance brings, until the time is over. */
async function createFaults(
  world: World,
  options: {
    kinds: FaultKind[];
    untilElapsed: number;
    faults: ChaosReport['faults'];
    say(line: string): void;
  },
): Promise<void> {
  const { clock, random } = world;
  const { kinds, untilElapsed, faults, say } = options;
  const deck = shuffle([...kinds], random);
  const running = new Set<Promise<void>>();
  let storeWide: Promise<void> | null = null;
  // A fault that could not be made or undone: nothing that follows would mean anything.
  let broken: { error: unknown } | null = null;
  const stopIfBroken = () => {
    if (broken !== null) throw broken.error;
  };

  async function strike(kind: FaultKind): Promise<void> {
    const count = faults.get(kind.name) ?? { created: 0, struck: 0 };
    faults.set(kind.name, count);
    count.created++;
    let waited = 'nothing that it told';
    const strike = kind.strike({
      ...world,
      waitsFor(what) {
        waited = what;
      },
    });
    const hasStruck = await within(strike, strikeMsMax);
    if (hasStruck === 'nothing in time')
      throw new Error(
        `The fault "${kind.name}" did not end within ${strikeMsMax / 1_000} s. It waited for ${waited}.`,
      );
    if (hasStruck) count.struck++;
    say(`${kind.name}${hasStruck ? '' : `: did not strike, it waited in vain for ${waited}`}`);
  }

  // Where processes cannot live at all there is nothing more to learn.
  const isHopeless = () => world.fleet.failed.length > gaveUpCountMax;
  const mustTryAgain = ({ name }: FaultKind): boolean => {
    const { created, struck } = faults.get(name) ?? { created: 0, struck: 0 };
    return struck === 0 && created < tryCountMax;
  };
  for (;;) {
    if (deck.length === 0 && kinds.some(mustTryAgain)) {
      // Those that are on their way may still strike.
      await Promise.all(running);
      deck.push(...kinds.filter(mustTryAgain));
    }
    stopIfBroken();
    if (isHopeless() || (deck.length === 0 && clock.elapsed() >= untilElapsed)) break;
    const kind = deck.pop() ?? (kinds[Math.floor(random.next() * kinds.length)] as FaultKind);
    // While nobody can write, nobody passes a point and nobody can be stopped between two transactions.
    if (storeWide !== null && !/^kill -9 (at random|of the client)$/.test(kind.name)) await storeWide;
    if (kind.isStoreWide) await Promise.all(running);
    const one = strike(kind)
      .catch((error) => {
        broken ??= { error };
      })
      .finally(() => running.delete(one));
    running.add(one);
    if (kind.isStoreWide) {
      storeWide = one.finally(() => {
        storeWide = null;
      });
    }
    await clock.sleep(200 + random.next() * 1_000);
    if (running.size >= 3) await Promise.race(running);
  }
  await Promise.all(running);
  stopIfBroken();
}

function shuffle<Item>(items: Item[], random: Random): Item[] {
  for (let i = items.length - 1; i > 0; i--) {
    const j = Math.floor(random.next() * (i + 1));
    [items[i], items[j]] = [items[j] as Item, items[i] as Item];
  }
  return items;
}

/** Lets the client finish, stops the schedulers, and lets one last node do what is left. Tells who did not end as it should. */
async function close(
  fleet: Fleet,
  engine: Engine,
  say: (line: string) => void,
): Promise<{ stoppedAt: number; problems: Violation[] }> {
  const problems: Violation[] = [];
  const fail = (message: string) => problems.push({ invariant: 'ends-well', subjects: [], message });
  for (const one of [...fleet.processes].filter(({ role }) => role === 'client')) {
    fleet.send(one, { kind: 'finish' });
    const code = await within(fleet.ended(one), closingMs);
    if (code !== 0) fail(`The client ${one.name} was told to finish and ended with ${code}.`);
  }
  const { now: stoppedAt } = await engine.get({ ids: [] });
  for (const one of [...fleet.processes]) {
    one.child.kill('SIGTERM');
    const code = await within(fleet.ended(one), closingMs);
    if (code !== 0) fail(`The node ${one.name} was asked to end and ended with ${code}.`);
  }
  say('the last node does what is left');
  const last = await fleet.start('node', { roles: ['worker', 'maintenance'] });
  // A machine with much else to do is slow; one that is stuck does not move.
  let movedElapsed = systemClock.elapsed();
  let left = liveCount(await engine.counts({ cap: 1_000 }));
  while (left > 0 && systemClock.elapsed() - movedElapsed < closingMs) {
    await systemClock.sleep(100);
    const now = liveCount(await engine.counts({ cap: 1_000 }));
    if (now < left) movedElapsed = systemClock.elapsed();
    left = now;
  }
  last.child.kill('SIGTERM');
  const code = await within(fleet.ended(last), closingMs);
  if (code !== 0) fail(`The last node was asked to end and ended with ${code}.`);
  if (left > 0) fail(`${left} jobs were left, and none of them moved for ${closingMs / 1000} s.`);
  return { stoppedAt, problems };
}

async function within<Value>(promise: Promise<Value>, ms: number): Promise<Value | 'nothing in time'> {
  const patience = new AbortController();
  const value = await Promise.race([
    promise,
    systemClock.sleep(ms, patience.signal).then(() => 'nothing in time' as const),
  ]);
  patience.abort();
  return value;
}

function liveCount({ status }: CountsReply): number {
  return Object.entries(status)
    .filter(([name]) => !isTerminal(name as JobStatus))
    .reduce((sum, [, { count }]) => sum + count, 0);
}

async function readOwnRows(store: string): Promise<OwnRows> {
  const own = await openOwn(store);
  const rows = await own.rows();
  own.close();
  return rows;
}

function count(names: readonly string[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const name of names) counts[name] = (counts[name] ?? 0) + 1;
  return counts;
}

type Summary = ('jobs' | 'calls' | 'slots' | 'lostAttempts') | ('lists' | 'transactions' | 'decisions');

function summarise(evidence: Evidence): Pick<ChaosReport, Summary> {
  const { events, final } = evidence;
  const answered = count(events.flatMap((event) => (event.kind === 'answered' ? [event.outcome] : [])));
  const { acknowledged = 0, refused = 0, unknown = 0 } = answered;
  const askedCount = events.filter(({ kind }) => kind === 'asked').length;
  const slots: Record<string, number> = {};
  for (const row of Object.values(final.ledger).flat())
    slots[row.decision] = (slots[row.decision] ?? 0) + (row.count ?? 1);
  const exchanges = new Map<string, string[]>();
  for (const event of events) {
    if (event.kind !== 'settled' || event.to !== 'COMPLETED') continue;
    const key = `${event.node} ${event.at}`;
    exchanges.set(key, [...(exchanges.get(key) ?? []), event.result]);
  }
  const ends = new Map<number, string>();
  for (const event of events) {
    if (event.kind !== 'transacted') continue;
    const isEnd = event.state === 'committed' || event.state === 'rolledBack';
    ends.set(event.tx, isEnd ? event.state : 'killed');
  }
  const isFired = ({ kind, ...event }: HistoryEvent): boolean =>
    kind === 'fired' && 'result' in event && event.result === 'fired';
  const lists = [...exchanges.values()].filter(({ length }) => length >= 4);
  return {
    transactions: count([...ends.values()]),
    decisions:
      (evidence.unorderedMs ?? 0) > 0
        ? null
        : {
            noted: events.filter(isFired).length,
            predicted: predict(evidence).writes.filter(({ event }) => event.kind === 'fired').length,
          },
    lists: { count: lists.length, withLost: lists.filter((results) => results.includes('lost')).length },
    jobs: count(final.jobs.map(({ status }) => status)),
    calls: {
      acknowledged,
      refused,
      unknown,
      unanswered: askedCount - acknowledged - refused - unknown,
    },
    slots,
    lostAttempts: final.jobs.flatMap(({ attempts }) => attempts).filter(({ reason }) => reason === 'lost')
      .length,
  };
}

const excerptCountMax = 60;

/** What happened to the offenders, short enough to read. */
function excerptOf({ events }: Evidence, violations: Violation[]): string {
  const subjects = new Set(violations.slice(0, 3).flatMap((violation) => violation.subjects));
  const lines = events.filter((event) => subjectsOf(event).some((subject) => subjects.has(subject)));
  const shown = lines.slice(0, excerptCountMax).map((event) => lineOf(event, subjects));
  const left = lines.length - shown.length;
  return left > 0 ? [...shown, `… and ${left} more`].join('\n') : shown.join('\n');
}

function lineOf(event: HistoryEvent, subjects: ReadonlySet<string>): string {
  // A list of many jobs would hide the one that it is about.
  return describe(
    'jobs' in event ? { ...event, jobs: event.jobs.filter(({ id }) => subjects.has(id)) } : event,
  );
}
