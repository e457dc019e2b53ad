import assert, { AssertionError } from 'node:assert/strict';
import type { Random } from '@duly/core';
import { jobStatuses } from '@duly/core';
import {
  type ActTarget,
  type Dedupe,
  type Engine,
  type EngineVerb,
  engineVerbs,
  type Gate,
  type JobFilter,
  type JobSpec,
  type JobState,
  jobActions,
  type RetryTarget,
  type Settlement,
  seededRandom,
} from '@duly/core/internal';
import {
  claimRequest,
  day,
  fireGroup,
  hour,
  jobPolicy,
  jobSpec,
  lockRequest,
  lostSettlement,
  minute,
  nodeInfo,
  scheduleClaim,
  schedulePut,
  second,
  settlement,
  slotJob,
  slotRow,
  t0,
} from './builders.ts';

/** How one random sequence is played on two engines. */
export interface RandomPlay {
  /** The engine under test, fresh and empty. */
  engine: Engine;
  /** The one it is compared with, fresh and empty. */
  reference: Engine;
  seed: number;
  steps: number;
}

/**
 * Plays the same seeded sequence of every verb on two engines and compares, after every step, the replies and all that can be read:
 * jobs, lists, counts, feed, audit, schedules, ledger. Only what each store may choose for itself (fences, positions, cursors,
 * how many rows its feed takes) is left out. Throws with the seed and the last steps when they differ.
 */
export async function playRandom({ engine, reference, seed, steps }: RandomPlay): Promise<void> {
  const play = new Pair([engine, reference], seededRandom(seed));
  await play.begin();
  for (let step = 1; step <= steps; step += 1) {
    try {
      await play.step();
    } catch (error) {
      const tail = play.story.slice(-8).join('\n  ');
      const failure = new AssertionError({
        message: `Seed ${seed}, step ${step}: the two engines differ. The last calls:\n  ${tail}`,
      });
      failure.cause = error;
      throw failure;
    }
  }
}

type Input<Verb extends EngineVerb> = Parameters<Engine[Verb]>[0];
type Answer<Verb extends EngineVerb> = Awaited<ReturnType<Engine[Verb]>>;
/** Something each engine named for itself: a fence, a version, a position. */
type Own = readonly [number, number];

const types = ['a', 'b', 'c'];
const queues = ['q1', 'q2'];
const keys = ['k1', 'k2', 'k3'];
const figuresEvery = 4;
const ends = ['COMPLETED', 'FAILED', 'RETRYING', 'SCHEDULED', 'PENDING', 'CANCELLED'] as const;

class Pair {
  readonly story: string[] = [];
  readonly #engines: readonly [Engine, Engine];
  readonly #random: Random;
  readonly #specs: JobSpec[] = [];
  readonly #leases: { id: string; fences: Own }[] = [];
  readonly #locks: { name: string; fences: Own }[] = [];
  readonly #schedules: { id: string; versions: Own; fences: Own }[] = [];
  /** The slot of each schedule that was decided last. */
  readonly #decidedAt = new Map<string, number>();
  readonly #listed: (readonly [JobState[], JobState[]])[] = [];
  #scheduleIds: string[] = [];
  #feed: Own = [0, 0];
  #stepCount = 0;
  #now = t0;

  constructor(engines: readonly [Engine, Engine], random: Random) {
    this.#engines = engines;
    this.#random = random;
  }

  async begin(): Promise<void> {
    const replies = await this.#both('changes', { now: t0, after: null, limit: 1 });
    this.#feed = own(replies, ({ position }) => position);
  }

  async step(): Promise<void> {
    // Often no time at all: much of what goes wrong happens at one and the same instant.
    this.#now += this.#pick([0, 1, second, minute, 10 * minute, hour]);
    const acts: (() => Promise<unknown>)[] = [
      () => this.#enqueue(),
      () => this.#enqueue(),
      () => this.#enqueue(),
      () => this.#exchange(),
      () => this.#exchange(),
      () => this.#exchange(),
      () => this.#exchange(),
      () => this.#heartbeat(),
      () => this.#report(),
      () => this.#reap(),
      () => this.#cancel(),
      () => this.#reschedule(),
      () => this.#retry(),
      () => this.#act(),
      () => this.#pause(),
      () => this.#lock(),
      () => this.#value(),
      () => this.#remember(),
      () => this.#applySchedule(),
      () => this.#fire(),
      () => this.#fire(),
      () => this.#node(),
      () => this.#prune(),
    ];
    await this.#pick(acts)();
    await this.#compare();
  }

  // ------------------------------------------------------------------------------------------------ jobs

  async #enqueue(): Promise<void> {
    const group = () => ({ jobs: Array.from({ length: 1 + this.#below(3) }, () => this.#spec()) });
    const old = this.#specs.at(-1 - this.#below(5));
    const repeats = old !== undefined && this.#below(6) === 0;
    const groups = repeats
      ? [{ jobs: [old, this.#spec()] }]
      : Array.from({ length: 1 + this.#below(2) }, group);
    const claim = this.#below(4) === 0 ? this.#claimRequest() : undefined;
    const input = { now: this.#now, groups, ...(repeats && { repeat: true }), ...(claim && { claim }) };
    const replies = await this.#both('enqueue', input);
    this.#keepLeases([replies[0].claimed, replies[1].claimed]);
    for (const { jobs } of groups) this.#specs.push(...jobs.filter((spec) => !this.#specs.includes(spec)));
  }

  #spec(): JobSpec {
    const gates: Gate[] =
      this.#maybe(5, () => [{ kind: this.#pick(['overlap', 'parent'] as const), ref: this.#id() }]) ?? [];
    const parent = this.#maybe(8, () => ({ id: this.#id(), key: this.#pick([null, 'part-1', 'part-2']) }));
    return jobSpec({
      type: this.#pick(types),
      version: this.#pick([1, 1, 2]),
      queue: this.#pick(queues),
      tenant: this.#pick([null, null, 'acme']),
      due: this.#pick([{ at: this.#now - minute }, { inMs: 0 }, { inMs: second }, { inMs: hour }]),
      rankOffsetMs: this.#pick([0, 0, -minute, minute]),
      input: JSON.stringify({ n: this.#below(5) }),
      startDeadlineMs: this.#pick([null, null, 10 * minute]),
      serial: this.#pick([null, null, 's1', 's2']),
      dedupe: this.#maybe(4, () => this.#dedupe()),
      gates,
      parent,
      policy: jobPolicy({ retentionMs: this.#pick([hour, day]), deadRetentionMs: 2 * day }),
    });
  }

  #dedupe(): Dedupe {
    return {
      key: this.#pick(keys),
      forMs: this.#pick([null, null, hour]),
      mode: this.#pick(['drop', 'replace', 'extend'] as const),
      maxWaitMs: this.#pick([null, 2 * hour]),
    };
  }

  #claimRequest(): ReturnType<typeof claimRequest> {
    return claimRequest({
      tasks: types
        .filter(() => this.#below(4) > 0)
        .map((type) => ({ type, version: this.#pick([1, 2]), limit: this.#pick([1, 9]) })),
      queues: this.#pick([null, null, ['q1']]),
      limit: this.#pick([1, 2, 5]),
      leaseMs: this.#pick([minute, hour]),
      idle: this.#below(2) === 0,
    });
  }

  async #exchange(): Promise<void> {
    const chosen = Array.from({ length: this.#below(3) }, () => this.#lease()).filter(
      (one) => one !== undefined,
    );
    const settles = chosen.map((lease) => this.#settlement(lease));
    const claim = this.#below(3) > 0 ? this.#claimRequest() : null;
    const inputs = ([0, 1] as const).map((n) => ({
      now: this.#now,
      settle: settles.map((one) => one[n]),
      claim,
    })) as [Input<'exchange'>, Input<'exchange'>];
    const replies = await this.#both('exchange', inputs[0], inputs[1]);
    this.#keepLeases([replies[0].claimed, replies[1].claimed]);
    if (this.#below(6) > 0) return;
    // The reply got lost: the caller asks again.
    await this.#both('exchange', { ...inputs[0], repeat: true }, { ...inputs[1], repeat: true });
  }

  #settlement({ id, fences }: { id: string; fences: Own }): readonly [Settlement, Settlement] {
    const to = this.#pick(ends);
    const isLoss = this.#below(6) === 0;
    const due = to === 'RETRYING' || to === 'SCHEDULED' ? { inMs: this.#pick([0, second, hour]) } : null;
    const started = this.#below(4) > 0;
    const loss = this.#pick(['unproven', 'begun'] as const);
    const of = (fence: number) =>
      isLoss ? lostSettlement({ id, fence }, loss) : settlement({ id, fence }, to, { due, started });
    return [of(fences[0]), of(fences[1])];
  }

  async #heartbeat(): Promise<void> {
    const lease = this.#lease();
    if (lease === undefined) return;
    const begun = this.#below(2) === 0;
    const input = (fence: number) => ({
      now: this.#now,
      node: 'node-a',
      leaseMs: this.#leaseMs,
      leases: [{ id: lease.id, fence, begun }],
    });
    await this.#both('heartbeat', input(lease.fences[0]), input(lease.fences[1]));
  }

  readonly #leaseMs = 10 * minute;

  async #report(): Promise<void> {
    const lease = this.#lease();
    if (lease === undefined) return;
    const progress = { percent: this.#below(100), message: this.#pick([null, 'half']), step: null, of: null };
    const logs = [
      {
        line: 1 + this.#below(1_000),
        at: this.#now,
        level: 'info' as const,
        message: `line ${this.#below(100)}`,
      },
    ];
    const input = (fence: number) => ({
      now: this.#now,
      logLimit: 3,
      reports: [{ id: lease.id, fence, progress, logs }],
    });
    await this.#both('report', input(lease.fences[0]), input(lease.fences[1]));
    await this.#both('logs', { now: this.#now, id: lease.id, after: 0, limit: 10 });
  }

  async #reap(): Promise<void> {
    const replies = await this.#both('reap', {
      now: this.#now,
      node: 'reaper',
      leaseMs: minute,
      limit: this.#pick([1, 100]),
    });
    this.#keepLeases([replies[0].jobs, replies[1].jobs]);
  }

  #target(): { id: string } | { type: string; tenant: string | null; key: string } {
    if (this.#below(3) > 0) return { id: this.#id() };
    return { type: this.#pick(types), tenant: this.#pick([null, 'acme']), key: this.#pick(keys) };
  }

  async #cancel(): Promise<void> {
    const group = { actor: 'key:anna', note: 'why not', targets: [this.#target(), this.#target()] };
    await this.#both('cancel', {
      now: this.#now,
      groups: [{ ...group, mode: this.#pick(['ask', 'terminate'] as const) }],
    });
  }

  async #reschedule(): Promise<void> {
    const due = this.#pick([{ at: this.#now - second }, { inMs: 0 }, { inMs: minute }, { inMs: hour }]);
    await this.#both('reschedule', {
      now: this.#now,
      groups: [{ actor: 'key:anna', targets: [this.#target()], due }],
    });
  }

  async #retry(): Promise<void> {
    await this.#both('retry', {
      now: this.#now,
      groups: [{ actor: 'key:anna', note: null, targets: [this.#retryTarget(), this.#retryTarget()] }],
    });
  }

  #retryTarget(): RetryTarget {
    const id = this.#id();
    return this.#below(2) === 0 ? { id } : { id, expectFence: 0 };
  }

  /** Lists jobs, and acts on what was listed now or some steps ago. */
  async #act(): Promise<void> {
    const filter: JobFilter = this.#pick([
      { ids: [this.#id(), this.#id()] },
      { dead: true },
      { status: [this.#pick(jobStatuses)] },
      { type: ['a'], tenant: null },
      { input: [{ path: 'n', value: '2' }] },
    ]);
    const page = { now: this.#now, filter, cursor: null, limit: 3, statesOnly: true };
    const lists = await this.#both('list', page);
    this.#listed.push([lists[0].states ?? [], lists[1].states ?? []]);
    const group = () => {
      const listed = this.#listed.at(-1 - this.#below(3)) ?? this.#pick(this.#listed);
      const action = this.#pick(jobActions);
      const expects = this.#pick(['nothing', 'fence', 'all'] as const);
      return ([0, 1] as const).map((n) => ({
        ...{ actor: 'key:anna', note: null, action },
        targets: listed[n].map((state) => targetOf(state, expects)),
      }));
    };
    const groups = [group(), group()];
    const input = (n: 0 | 1) => ({
      now: this.#now,
      groups: groups.map((both) => both[n] as (typeof both)[number]),
    });
    await this.#both('act', input(0), input(1));
    // The reply got lost: the caller asks again.
    if (this.#below(4) === 0) await this.#both('act', input(0), input(1));
  }

  async #pause(): Promise<void> {
    const key = this.#pick(['all', 'queue:q1', 'type:a']);
    const value = JSON.stringify({ untilAt: this.#now + minute, by: 'key:anna', note: null, at: this.#now });
    const op = this.#pick([
      { op: 'put' as const, kind: 'pause', key, value },
      { op: 'delete' as const, kind: 'pause', key },
    ]);
    const list = { op: 'list' as const, kind: 'pause', after: null, limit: 9 };
    await this.#both('records', { now: this.#now, groups: [{ actor: 'key:anna', ops: [op, list] }] });
  }

  // ------------------------------------------------------------------------------- coordination and values

  async #lock(): Promise<void> {
    const name = this.#pick(['l1', 'l2']);
    const known = this.#locks.at(-1 - this.#below(3));
    if (known === undefined || this.#below(2) === 0) {
      const replies = await this.#both('acquire', lockRequest(name, { now: this.#now }));
      this.#locks.push({ name, fences: own(replies, ({ fence }) => fence) });
      return;
    }
    const locks = (n: 0 | 1) => [{ name: known.name, fence: known.fences[n] }];
    if (this.#below(2) === 0)
      await this.#both('release', { now: this.#now, locks: locks(0) }, { now: this.#now, locks: locks(1) });
    else {
      const renew = (n: 0 | 1) => ({ now: this.#now, ttlMs: minute, locks: locks(n) });
      await this.#both('renew', renew(0), renew(1));
    }
  }

  async #value(): Promise<void> {
    const at = { name: 'tokens', key: this.#pick(keys) };
    const due = { inMs: this.#pick([minute, hour]) };
    const cleanup = this.#maybe(2, () => jobSpec({ type: 'c', due }));
    const change = this.#pick([
      { op: 'put' as const, ...at, value: String(this.#below(9)), due, cleanup },
      { op: 'extend' as const, ...at, due },
      { op: 'delete' as const, ...at },
    ]);
    await this.#both('putExpiring', { now: this.#now, groups: [{ actor: 'key:anna', changes: [change] }] });
    if (change.op === 'put' && cleanup !== null) this.#specs.push(cleanup);
    await this.#both('getExpiring', { now: this.#now, keys: keys.map((key) => ({ name: 'tokens', key })) });
  }

  async #remember(): Promise<void> {
    const lease = this.#lease();
    const key = this.#pick(keys);
    if (lease === undefined) return;
    const input = (fence: number) => ({
      now: this.#now,
      scope: 'once',
      key,
      put: { value: '1', forMs: hour, guard: { job: lease.id, fence } },
    });
    await this.#both('remember', input(lease.fences[0]), input(lease.fences[1]));
  }

  // ------------------------------------------------------------------------------------------- schedules

  async #applySchedule(): Promise<void> {
    const id = this.#pick(['sch_1', 'sch_2', 'sch_3']);
    const stored = await Promise.all(
      this.#engines.map((engine) =>
        engine.schedules({ now: this.#now, filter: { ids: [id] }, cursor: null, limit: 1 }),
      ),
    );
    const versions = stored.map(({ schedules }) => schedules[0]?.version ?? null);
    const isDelete = versions[0] !== null && this.#below(4) === 0;
    const dueAt = this.#pick([this.#now, this.#now + hour]);
    const input = (expectVersion: number | null): Input<'applySchedules'> => ({
      now: this.#now,
      groups: [
        {
          actor: 'key:anna',
          changes: [
            isDelete
              ? { op: 'delete', id, expectVersion: expectVersion as number, action: 'delete' }
              : schedulePut({ id, dueAt, expectVersion, action: 'edit' }),
          ],
        },
      ],
    });
    await this.#both('applySchedules', input(versions[0] ?? null), input(versions[1] ?? null));
    this.#scheduleIds = [...new Set([...this.#scheduleIds, id])];
  }

  async #fire(): Promise<void> {
    const ids = this.#below(3) === 0 ? [this.#pick(['sch_1', 'sch_2'])] : null;
    const replies = await this.#both(
      'claimSchedules',
      scheduleClaim({ now: this.#now, limit: 2, ids, leaseMs: second }),
    );
    for (const [n, one] of replies[0].schedules.entries()) {
      const other = replies[1].schedules[n] as typeof one;
      this.#schedules.push({
        id: one.id,
        versions: [one.version, other.version],
        fences: [one.fence, other.fence],
      });
    }
    const known = this.#schedules.at(-1 - this.#below(2));
    const slotAt = this.#now;
    // A planner never decides a slot twice.
    if (known === undefined || this.#decidedAt.get(known.id) === slotAt) return;
    const job = slotJob(known.id, slotAt, { type: 'a', queue: 'q1' });
    const waitsFor = this.#pick([null, job.id]);
    const dueAt = waitsFor === null ? this.#now + minute : null;
    const end = this.#maybe(3, () => ({ id: this.#id(), mode: this.#pick(['ask', 'terminate'] as const) }));
    const input = (n: 0 | 1): Input<'fire'> => ({
      now: this.#now,
      node: 'node-a',
      groups: [
        fireGroup(
          { id: known.id, version: known.versions[n], fence: known.fences[n] },
          {
            state: `{"n":${slotAt}}`,
            dueAt,
            waitsFor,
            slots: [slotRow(slotAt, { jobId: job.id })],
            jobs: [job],
            cancel: end === null ? [] : [end],
          },
        ),
      ],
    });
    const fired = await this.#both('fire', input(0), input(1));
    if (fired[0].groups[0] !== 'fired') return;
    this.#specs.push(job);
    this.#decidedAt.set(known.id, slotAt);
  }

  // ---------------------------------------------------------------------------------------------- operations

  async #node(): Promise<void> {
    const id = this.#pick(['n1', 'n2']);
    const act = this.#pick([
      { heartbeat: nodeInfo(id) },
      { leave: id },
      { drain: { id, actor: 'key:anna' } },
    ]);
    await this.#both('nodes', {
      now: this.#now,
      heartbeat: null,
      leave: null,
      drain: null,
      forgetAfterMs: hour,
      ...act,
    });
  }

  async #prune(): Promise<void> {
    // The feed is read at every step, so pruning it leaves no gap for this reader.
    await this.#both('prune', {
      now: this.#now,
      limit: 1_000,
      ledgerMs: 30 * day,
      compactStarts: [0, t0 - 60 * day, t0, t0 + 60 * day],
      auditMs: 30 * day,
      changesMs: hour,
    });
  }

  // ------------------------------------------------------------------------------------------- comparing

  /** Everything that can be read is the same on both. */
  async #compare(): Promise<void> {
    const now = this.#now;
    await this.#both('get', { now, ids: this.#specs.map(({ id }) => id) });
    await this.#both('list', { now, filter: {}, cursor: null, limit: 20 });
    await this.#both('holder', { now, type: this.#pick(types), tenant: null, key: this.#pick(keys) });
    // Figures are made of the same rows and cost the most: what differs in them differs for longer than some steps.
    this.#stepCount += 1;
    if (this.#stepCount % figuresEvery === 0) await this.#compareFigures();
    await this.#both('heldLocks', { now, prefix: 'l', after: null, limit: 9 });
    await this.#both('audit', { now, subject: null, before: null, limit: 5 });
    await this.#both('schedules', { now, filter: {}, cursor: null, limit: 9 });
    for (const scheduleId of this.#scheduleIds) {
      await this.#both('slots', { now, scheduleId, fromAt: 0, beforeAt: now + 1, limit: 5 });
    }
    const feed = await this.#both(
      'changes',
      { now, after: this.#feed[0], limit: 10_000 },
      { now, after: this.#feed[1], limit: 10_000 },
    );
    this.#feed = own(feed, ({ position }) => position);
  }

  async #compareFigures(): Promise<void> {
    const now = this.#now;
    await this.#both('counts', { now, cap: 1_000 });
    await this.#both('upcoming', { now, withinMs: day, stepMs: minute, cap: 1_000, limit: 9 });
    await this.#both('stats', { now, sinceAt: t0, types: null, scheduleIds: this.#scheduleIds });
    const steps = { fromAt: t0, stepMs: day, stepCount: 30, sampleCount: 1_000 };
    await this.#both('trend', { now, ...steps, type: null, scheduleId: null });
    await this.#both('trend', { now, ...steps, type: this.#pick(types), scheduleId: null });
  }

  /** Calls one verb on both engines and compares the answers. */
  async #both<Verb extends EngineVerb>(
    verb: Verb,
    input: Input<Verb>,
    otherInput: Input<Verb> = input,
  ): Promise<[Answer<Verb>, Answer<Verb>]> {
    const call = (n: 0 | 1, given: Input<Verb>) =>
      (this.#engines[n][verb] as (input: Input<Verb>) => Promise<Answer<Verb>>)(given);
    if (engineVerbs[verb].access === 'write')
      this.story.push(`${verb} ${JSON.stringify(input)}`.slice(0, 600));
    const one = await call(0, input);
    const other = await call(1, otherInput);
    assert.deepEqual(comparable(one), comparable(other), verb);
    return [one, other];
  }

  #keepLeases([some, others]: Claims): void {
    for (const [n, { id, fence }] of some.entries()) {
      this.#leases.push({ id, fences: [fence, (others[n] as { fence: number }).fence] });
    }
  }

  /** A lease, mostly one that may still hold. */
  #lease(): { id: string; fences: Own } | undefined {
    return this.#below(5) === 0
      ? this.#leases[this.#below(this.#leases.length)]
      : this.#leases.at(-1 - this.#below(6));
  }

  #id(): string {
    return this.#specs.at(-1 - this.#below(15))?.id ?? 'job_nowhere';
  }

  #below(bound: number): number {
    return Math.floor(this.#random.next() * bound);
  }

  #pick<Item>(items: readonly Item[]): Item {
    return items[this.#below(items.length)] as Item;
  }

  #maybe<Item>(oneIn: number, create: () => Item): Item | null {
    return this.#below(oneIn) === 0 ? create() : null;
  }
}

function targetOf(
  { id, fence, status, updatedAt }: JobState,
  expects: 'nothing' | 'fence' | 'all',
): ActTarget {
  if (expects === 'nothing') return { id };
  if (expects === 'fence') return { id, expectFence: fence };
  return { id, expectFence: fence, expectStatus: status, expectUpdatedAt: updatedAt };
}

type Claims = [{ id: string; fence: number }[], { id: string; fence: number }[]];

function own<Reply>(replies: readonly [Reply, Reply], read: (reply: Reply) => number): Own {
  return [read(replies[0]), read(replies[1])];
}

/** An answer without what each store may choose for itself. */
function comparable(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(comparable);
  if (typeof value !== 'object' || value === null) return value;
  const fields = value as Record<string, unknown>;
  if (fields.ok === false) return { ok: false, code: (fields.error as { code: string }).code };
  if (fields.kind === 'serial' && 'ref' in fields) return { kind: 'serial' };
  return Object.fromEntries(
    Object.entries(fields)
      .filter(([name]) => name !== 'fence' && name !== 'position')
      // What a prune counted: one store keeps all changes of a call in one row of its feed, another does not.
      .filter(([name, field]) => name !== 'rows' || typeof field !== 'number')
      .map(([name, field]) => [name, name === 'nextCursor' ? field !== null : comparable(field)]),
  );
}
