import assert, { AssertionError } from 'node:assert/strict';
import type { Random } from '@duly/core';
import { jobStatuses } from '@duly/core';
import { type Engine, type Settlement, seededRandom } from '@duly/core/internal';
import { dedupe, hour, jobSpec, lostSettlement, minute, second, settlement, t0 } from './builders.ts';
import { JobModel, type ModelEnd, type ModelJob } from './model.ts';
import { cancel, claim, createAll, heartbeat, only, reap, reschedule, retry, settle } from './steps.ts';

/** How a random life of jobs is played against the model. */
export interface ModelPlay {
  engine: Engine;
  seed: number;
  steps: number;
}

const leaseMs = 5 * minute;
const offsets = [-minute, 0, minute];
const types = ['a', 'b'];
const tasks = types.map((type) => ({ type, version: 1, limit: 1_000 }));

/**
 * Makes, claims, settles, cancels, moves, retries, renews and loses jobs at random, on the engine and on the model, and compares both
 * after every step. Throws with the seed and the steps taken when they disagree.
 */
export async function playAgainstModel({ engine, seed, steps }: ModelPlay): Promise<void> {
  const play = new Play(engine, seededRandom(seed));
  for (let step = 1; step <= steps; step += 1) {
    try {
      await play.step();
    } catch (error) {
      const tail = play.story.slice(-12).join('\n  ');
      const failure = new AssertionError({
        message: `Seed ${seed}, step ${step}: the engine and the model disagree. The last steps:\n  ${tail}`,
      });
      failure.cause = error;
      throw failure;
    }
  }
}

class Play {
  readonly story: string[] = [];
  readonly #engine: Engine;
  readonly #random: Random;
  readonly #model = new JobModel();
  readonly #leases: { id: string; fence: number; lease: number }[] = [];
  // Instants and ranks in use. Every new one differs from all of them, so that no order is left to chance.
  readonly #used = new Set<number>();
  readonly #shortNames = new Map<string, string>();
  #now = t0;

  constructor(engine: Engine, random: Random) {
    this.#engine = engine;
    this.#random = random;
  }

  async step(): Promise<void> {
    await this.#passTime();
    const acts = [
      () => this.#create(),
      () => this.#create(),
      () => this.#claim(),
      () => this.#claim(),
      () => this.#settle(),
      () => this.#settle(),
      () => this.#settle(),
      () => this.#heartbeat(),
      () => this.#cancel(),
      () => this.#reschedule(),
      () => this.#retry(),
    ];
    await this.#pick(acts)();
    await this.#compare();
  }

  /** Lets time pass event by event, so that the order of what happens is never a matter of one sweep's own order. */
  async #passTime(): Promise<void> {
    const end = this.#freshInstant(this.#now + this.#below(3) * minute + this.#below(minute) + 1);
    for (;;) {
      const at = this.#model.nextEventAt(this.#now, end) ?? end;
      this.#now = at;
      const taken = await reap(this.#engine, at, leaseMs);
      const expected = this.#model.sweep(at, leaseMs);
      this.#log(`sweep, ${taken.length} lost`);
      assert.deepEqual(taken.map(({ id }) => id).sort(), expected.map(({ id }) => id).sort());
      for (const job of expected) {
        const { fence } = taken.find(({ id }) => id === job.id) as { fence: number };
        this.#leases.push({ id: job.id, fence, lease: job.lease as number });
      }
      if (at === end) return;
    }
  }

  async #create(): Promise<void> {
    const count = 1 + this.#below(3);
    const specs = Array.from({ length: count }, () => {
      const rankOffsetMs = this.#pick(offsets);
      const dueAt = this.#freshInstant(
        this.#now + this.#pick([-hour, -minute, 0, second, minute, 10 * minute]),
      );
      const canExpire = dueAt >= this.#now && this.#below(4) === 0;
      const spec = jobSpec({
        type: this.#pick(types),
        due: { at: dueAt },
        rankOffsetMs,
        startDeadlineMs: canExpire ? this.#pick([second, minute]) : null,
        serial: this.#pick([null, null, 's1', 's2']),
        dedupe: this.#below(5) === 0 ? dedupe(this.#pick(['k1', 'k2'])) : null,
      });
      // Keys are per type; the model has one space of keys.
      const key = spec.dedupe === null ? null : `${spec.type}/${spec.dedupe.key}`;
      return { spec, model: { ...spec, dueAt, rankOffsetMs, key } };
    });
    const items = await createAll(
      this.#engine,
      specs.map(({ spec }) => spec),
      this.#now,
    );
    for (const [n, { spec, model }] of specs.entries()) {
      const { id, startDeadlineMs, serial } = spec;
      const stored = this.#model.create({ ...model, id, startDeadlineMs, serial }, this.#now);
      this.#shortNames.set(id, `j${this.#shortNames.size + 1}`);
      this.#log(
        `make ${this.#name(id)} ${spec.type} due ${model.dueAt - t0} serial ${serial} key ${model.key} → ${this.#name(stored)}`,
      );
      const item = items[n];
      assert.equal(item?.id, stored);
      assert.equal(item?.deduped, stored !== id);
    }
  }

  async #claim(): Promise<void> {
    const ready = this.#model.ready(this.#now);
    // A job with a loss is claimed by itself; how an engine goes around it is its own affair.
    const limit = ready.some(({ losses }) => losses > 0) ? 1 : 1 + this.#below(4);
    const claimed = await claim(this.#engine, { tasks, limit, leaseMs }, this.#now);
    const expected = this.#model.claim(limit, this.#now, leaseMs);
    this.#log(`claim ${limit} → ${claimed.map(({ id }) => this.#name(id)).join(' ')}`);
    assert.deepEqual(
      claimed.map(({ id, attempt, spent }) => ({ id, attempt, spent })),
      expected.map(({ id, attempt, spent }) => ({ id, attempt, spent })),
    );
    for (const [n, job] of expected.entries()) {
      this.#leases.push({ id: job.id, fence: claimed[n]?.fence as number, lease: job.lease as number });
    }
  }

  async #settle(): Promise<void> {
    if (this.#leases.length === 0) return;
    // Mostly one of the newest, which are likely to hold; now and then a stale one, which must be refused.
    const newest = this.#leases.slice(-6);
    const lease = this.#pick(this.#below(5) === 0 ? this.#leases : newest);
    const job = this.#model.find(lease.id);
    const holds = this.#model.holds(lease.id, lease.lease);
    const { one, end } = this.#ending(lease, job);
    const outcome = await settle(this.#engine, one, this.#now);
    this.#log(`settle ${this.#name(lease.id)} → ${one.to} ${one.reason}: ${outcome}`);
    assert.equal(outcome, holds ? 'done' : 'lost');
    if (holds) this.#model.settle(lease.id, end, this.#now);
  }

  #ending(lease: { id: string; fence: number }, job: ModelJob): { one: Settlement; end: ModelEnd } {
    const isLastAttempt = job.spent + 1 >= job.maxAttempts;
    const kind = this.#pick([
      'COMPLETED',
      'COMPLETED',
      isLastAttempt ? 'FAILED' : 'RETRYING',
      'SCHEDULED',
      'PENDING',
      'CANCELLED',
      'lost',
    ] as const);
    if (kind === 'lost') {
      const end: ModelEnd = { to: 'RETRYING', dueAt: this.#now, spends: false, started: true, lost: true };
      return { one: lostSettlement(lease, 'unproven', { started: true }), end };
    }
    const waits = kind === 'RETRYING' || kind === 'SCHEDULED';
    const dueAt = waits ? this.#freshInstant(this.#now + this.#pick([second, minute, 10 * minute])) : null;
    const due = dueAt === null ? null : { at: dueAt };
    // A job that was not entered may still expire, at a sweep that also does other things: left to a test of its own.
    const started = kind !== 'PENDING' || job.startDeadlineMs !== null || this.#below(2) === 0;
    const one = settlement(lease, kind, { due, started });
    return { one, end: { to: kind, dueAt, spends: one.spends, started, lost: false } };
  }

  async #heartbeat(): Promise<void> {
    if (this.#leases.length === 0) return;
    const lease = this.#pick(this.#leases.slice(-8));
    const holds = this.#model.holds(lease.id, lease.lease);
    const { state } = await heartbeat(this.#engine, lease, this.#now, { leaseMs });
    this.#log(`heartbeat ${this.#name(lease.id)}: ${state}`);
    const asked = this.#model.find(lease.id).cancelAsked;
    assert.equal(state, holds ? (asked ? 'cancel' : 'kept') : 'lost');
    if (holds) this.#model.heartbeat(lease.id, this.#now + leaseMs);
  }

  async #cancel(): Promise<void> {
    const job = this.#anyJob();
    if (job === undefined) return;
    const mode = this.#pick(['ask', 'terminate'] as const);
    const { result } = await cancel(this.#engine, { id: job.id }, this.#now, mode);
    this.#log(`cancel ${this.#name(job.id)} (${job.status}) by ${mode}: ${result}`);
    assert.equal(result, this.#model.cancel(job.id, mode, this.#now));
  }

  async #reschedule(): Promise<void> {
    const job = this.#anyJob();
    if (job === undefined) return;
    const dueAt = this.#freshInstant(this.#now + this.#pick([-minute, second, minute, 10 * minute]));
    // A move into the past may be past the start deadline as well; the sweep that ends it then has its own order.
    if (job.startDeadlineMs !== null && dueAt < this.#now) return;
    const { result } = await reschedule(this.#engine, { id: job.id }, { at: dueAt }, this.#now);
    this.#log(`reschedule ${this.#name(job.id)} (${job.status}) to ${dueAt - t0}: ${result}`);
    assert.equal(result, this.#model.reschedule(job.id, dueAt, this.#now));
  }

  async #retry(): Promise<void> {
    const job = this.#anyJob();
    // Whether a retried job takes its key back, and its losses along, is left to the engine.
    if (job === undefined || job.key !== null || job.losses > 0) return;
    const { result } = await retry(this.#engine, job.id, this.#now);
    this.#log(`retry ${this.#name(job.id)} (${job.status}): ${result}`);
    const expected = this.#model.retry(job.id, this.#now);
    if (expected === 'not ended') assert.ok(result === 'refused' || result === 'unchanged');
    else assert.equal(result, expected);
  }

  /** Every job as the engine shows it is as the model has it. */
  async #compare(): Promise<void> {
    const ids = this.#model.jobs.map(({ id }) => id);
    const { jobs } = await this.#engine.get({ now: this.#now, ids });
    const shown = jobs.map((job) =>
      job === null
        ? 'missing'
        : `${this.#name(job.id)} ${job.status} due ${job.dueAt - t0} attempt ${job.attempt} spent ${job.spent} of ${job.maxAttempts} losses ${job.losses} cancel ${job.cancelRequestedAt !== null}`,
    );
    const expected = this.#model.jobs.map(
      (job) =>
        `${this.#name(job.id)} ${job.status} due ${job.dueAt - t0} attempt ${job.attempt} spent ${job.spent} of ${job.maxAttempts} losses ${job.losses} cancel ${job.cancelAsked}`,
    );
    assert.deepEqual(shown, expected);
    const { status } = await this.#engine.counts({ now: this.#now, cap: 10_000 });
    for (const name of jobStatuses) {
      assert.equal(status[name].count, this.#model.jobs.filter((job) => job.status === name).length, name);
    }
  }

  /** An instant from `wished` on that differs from every other one, and whose ranks do too. */
  #freshInstant(wished: number): number {
    let at = wished;
    while (offsets.some((offset) => this.#used.has(at + offset))) at += 1;
    for (const offset of offsets) this.#used.add(at + offset);
    return at;
  }

  #anyJob(): ModelJob | undefined {
    return this.#model.jobs.length === 0 ? undefined : this.#pick(this.#model.jobs.slice(-12));
  }

  #name(id: string): string {
    return this.#shortNames.get(id) ?? id;
  }

  #log(what: string): void {
    this.story.push(`+${this.#now - t0} ${what}`);
  }

  #below(bound: number): number {
    return Math.floor(this.#random.next() * bound);
  }

  #pick<Item>(items: readonly Item[]): Item {
    return only([items[this.#below(items.length)] as Item]);
  }
}
