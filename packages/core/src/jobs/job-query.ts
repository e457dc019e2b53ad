import { dulyError } from '../base/errors.ts';
import { parseInstant } from '../base/instant.ts';
import { type OptionNames, readOptions, readWholeNumber, readWord, shown } from '../base/option-reader.ts';
import type { Count, Engine, JobFilter, JobRecord, JobState, ListReply } from '../contract/engine.ts';
import { allowsAction, type JobAction, jobActions } from '../contract/job-status.ts';
import { groupItems } from '../store/session.ts';
import { countCap } from './count-cap.ts';
import { type JobsFilter, readFilter } from './job-filter.ts';
import { readNote } from './job-reference.ts';
import { type Job, toJob } from './job-view.ts';

/** One page of jobs, by creation, newest first. */
export interface JobPage {
  jobs: Job[];
  /** Where the next page begins; null: that was the last one. */
  nextCursor: string | null;
}

/** Which page. */
export interface PageOptions {
  /** 1 to 1000, default 100. */
  limit?: number;
  cursor?: string | null;
}

/** How to act on all jobs that match. */
export interface ActionOptions {
  /** Why; kept in the audit. */
  note?: string;
  /** Counts only. */
  dryRun?: boolean;
  /** Only jobs created at or before this instant and, if finished, finished at or before it. */
  asOf?: Date | number | string;
  /** Throws `too_many_match`, and changes nothing, if more jobs than this would change. */
  expected?: number;
}

/** How to act on a part of the jobs that match. */
export interface ActionPageOptions extends Omit<ActionOptions, 'expected'> {
  /** How many at most, 1 to 10,000; default 500. */
  limit?: number;
  /** `nextCursor` of the part before. */
  cursor?: string | null;
}

/** What an action on a part of them came to. */
export interface ActionPage extends ActionResult {
  /** Where the next part begins; null: that was all. */
  nextCursor: string | null;
}

/** What an action on many jobs came to. */
export interface ActionResult {
  changed: number;
  /** Jobs that match and whose status does not allow it, or that changed whenever they were about to be changed. */
  refused: number;
  /** Of a dry run: the jobs that would change, newest created first, at most 10,000 of them. */
  ids?: string[];
  /** Of a dry run: the instant it counted at. Pass it to the action to exclude later jobs. */
  asOf?: Date;
}

/** How far to count. */
export interface CountOptions {
  /** Counting stops here and says so; 1 to 10,000, default 10,000. */
  cap?: number;
}

const countNames: OptionNames<CountOptions> = { cap: true };
const pageNames: OptionNames<PageOptions> = { limit: true, cursor: true };
const actionNames: OptionNames<ActionOptions> = { note: true, dryRun: true, asOf: true, expected: true };
const actionPageNames: OptionNames<ActionPageOptions> = {
  note: true,
  dryRun: true,
  asOf: true,
  limit: true,
  cursor: true,
};

const pageSizeDefault = 100;
const pageSizeMax = 1_000;
// One transaction per page: large enough to be quick, small enough that nobody waits long for it.
const actionPageSize = 500;
const actionPageSizeMax = 10_000;
// A job that changes between the list and the action is listed again, so many times.
const listedAgainMax = 5;
// As many ids as a filter of the HTTP API takes.
const reportedIdsMax = 10_000;
// A page of a filter that matches little looks at half a million jobs at most.
const pageLooksMax = 25;
// Twice as many as a full count needs; more mean that matches lie far apart.
const countPagesMax = 20;

/** The jobs that match a filter: read them by pages or one by one, or act on all of them. */
export class JobQuery implements AsyncIterable<Job> {
  readonly #engine: () => Promise<Engine>;
  readonly #actor: string;
  readonly #filter: JobFilter;

  /** Created by `duly.jobs(filter)`. */
  constructor(engine: () => Promise<Engine>, actor: string, filter: JobsFilter | undefined) {
    this.#engine = engine;
    this.#actor = actor;
    this.#filter = readFilter(filter);
  }

  /** Reads one page. Where matches lie far apart it may be short, even empty, while `nextCursor` says that there are more. */
  async page(options?: PageOptions): Promise<JobPage> {
    const { limit = pageSizeDefault, cursor = null } = readOptions(options, 'page()', pageNames);
    const wanted = readWholeNumber(limit, 'limit', 1, pageSizeMax);
    const engine = await this.#engine();
    const found: Job[] = [];
    let next: string | null = readCursor(cursor);
    // The store looks at a bounded number of jobs each time, so that others get in between.
    for (let looks = 0; looks < pageLooksMax; looks++) {
      const page: { jobs: JobRecord[]; nextCursor: string | null } = await engine.list({
        filter: this.#filter,
        cursor: next,
        limit: wanted - found.length,
      });
      for (const job of page.jobs) found.push(toJob(job));
      next = page.nextCursor;
      if (next === null || found.length >= wanted) break;
    }
    return { jobs: found, nextCursor: next };
  }

  /** The newest match; null: none. */
  async first(): Promise<Job | null> {
    // A page may be empty while there are more, where matches lie far apart.
    for await (const job of this.#each(1)) return job;
    return null;
  }

  /**
   * How many match, counted up to a cap. Also capped, with what was found by then, where matches lie so far apart that it would take long.
   */
  async count(options?: CountOptions): Promise<Count> {
    const { cap = countCap } = readOptions(options, 'count()', countNames);
    const limit = readWholeNumber(cap, 'cap', 1, countCap);
    const engine = await this.#engine();
    let count = 0;
    let cursor: string | null = null;
    for (let pages = 0; pages < countPagesMax; pages++) {
      const page: ListReply = await engine.list({
        filter: this.#filter,
        cursor,
        limit: Math.min(pageSizeMax, limit + 1 - count),
        statesOnly: true,
      });
      count += statesOf(page).length;
      cursor = page.nextCursor;
      if (count > limit) return { count: limit, capped: true };
      if (cursor === null) return { count, capped: false };
    }
    return { count, capped: true };
  }

  /** All matches, newest first, page by page. */
  [Symbol.asyncIterator](): AsyncGenerator<Job, void> {
    return this.#each(pageSizeDefault);
  }

  async *#each(limit: number): AsyncGenerator<Job, void> {
    const engine = await this.#engine();
    let cursor: string | null = null;
    do {
      const page: { jobs: JobRecord[]; nextCursor: string | null } = await engine.list({
        filter: this.#filter,
        cursor,
        limit,
      });
      for (const job of page.jobs) yield toJob(job);
      cursor = page.nextCursor;
    } while (cursor !== null);
  }

  /** Cancels all that match; running ones are asked. */
  cancel(options?: ActionOptions): Promise<ActionResult> {
    return this.#act('cancel', options);
  }

  /** Ends all that match at once, running ones too. */
  terminate(options?: ActionOptions): Promise<ActionResult> {
    return this.#act('terminate', options);
  }

  /** Brings all FAILED, CANCELLED and EXPIRED ones back. */
  retry(options?: ActionOptions): Promise<ActionResult> {
    return this.#act('retry', options);
  }

  /** Takes dead letters off the list; they stay in history for their retention. */
  discard(options?: ActionOptions): Promise<ActionResult> {
    return this.#act('discard', options);
  }

  /** Removes all that match and do not run. */
  delete(options?: ActionOptions): Promise<ActionResult> {
    return this.#act('delete', options);
  }

  /** Does one of these to a part of all that match, so that a caller may stop in between, or show how far it is. */
  async actPage(action: JobAction, options?: ActionPageOptions): Promise<ActionPage> {
    const given = readOptions(options, 'actPage()', actionPageNames);
    const verb = readWord(action, 'action', jobActions);
    const limit =
      given.limit === undefined
        ? actionPageSize
        : readWholeNumber(given.limit, 'limit', 1, actionPageSizeMax);
    return this.#actOnPages(verb, given, { cursor: readCursor(given.cursor ?? null), limit });
  }

  async #act(action: JobAction, given: ActionOptions | undefined): Promise<ActionResult> {
    const { expected, ...options } = readOptions(given, `${action}()`, actionNames);
    const everything = { cursor: null, limit: Number.POSITIVE_INFINITY };
    if (expected === undefined || options.dryRun) {
      const { nextCursor: _, ...result } = await this.#actOnPages(action, options, everything);
      return result;
    }
    const most = readWholeNumber(expected, 'expected', 0, Number.MAX_SAFE_INTEGER);
    const found = await this.#actOnPages(action, { ...options, dryRun: true }, everything);
    if (found.changed > most) {
      throw dulyError('too_many_match', {
        message: `Expected at most ${most} jobs to change, but ${found.changed} would. Nothing was changed.`,
        hint: 'Count again with a dry run, then repeat the action with the new number.',
        details: { expected: most, found: found.changed },
      });
    }
    // It stops at `most`: other jobs may begin to match meanwhile.
    const asOf = found.asOf as Date;
    const { changed, refused } = await this.#actOnPages(
      action,
      { ...options, asOf },
      { ...everything, most },
    );
    return { changed, refused: Math.max(refused, found.refused) };
  }

  /** Acts on at most `limit` jobs that match, and changes at most `most` of them, page by page. */
  async #actOnPages(
    action: JobAction,
    { note: given, dryRun = false, asOf: asOfGiven }: ActionOptions,
    {
      cursor: from,
      limit,
      most = Number.POSITIVE_INFINITY,
    }: { cursor: string | null; limit: number; most?: number },
  ): Promise<ActionPage> {
    const engine = await this.#engine();
    const note = readNote(given);
    const result: ActionResult = { changed: 0, refused: 0 };
    const ids: string[] = [];
    let asOf = asOfGiven === undefined ? undefined : parseInstant(asOfGiven, 'asOf');
    let cursor = from;
    let left = limit;
    do {
      const filter = asOf === undefined ? this.#filter : { ...this.#filter, asOf };
      const page: ListReply = await engine.list({
        ...{ filter, cursor, limit: Math.min(actionPageSize, left) },
        statesOnly: true,
      });
      // Later pages count at the instant of the first.
      if (dryRun) asOf ??= page.now;
      const states = statesOf(page);
      const allowed = states.filter((state) => allowsAction(action, state)).slice(0, most - result.changed);
      const refused = states.filter((state) => !allowsAction(action, state)).length;
      if (dryRun && ids.length < reportedIdsMax) ids.push(...allowed.map(({ id }) => id));
      const acted = dryRun
        ? { changed: allowed.length, refused: 0 }
        : await this.#actOn(engine, { action, note, filter, states: allowed });
      result.changed += acted.changed;
      result.refused += refused + acted.refused;
      left -= states.length;
      cursor = page.nextCursor;
    } while (cursor !== null && left > 0 && result.changed < most);
    if (dryRun) {
      result.ids = ids.slice(0, reportedIdsMax);
      result.asOf = new Date(asOf as number);
    }
    return { ...result, nextCursor: cursor };
  }

  /** Acts on jobs as they were listed. What changed since is listed again, and counts only if it still matches. */
  async #actOn(
    engine: Engine,
    { action, note, filter, states: listed }: ActOn,
  ): Promise<{ changed: number; refused: number }> {
    let states = listed;
    let changed = 0;
    let refused = 0;
    for (let times = 0; states.length > 0; times++) {
      const targets = states.map(({ id, fence, status, updatedAt }) => ({
        ...{ id, expectFence: fence, expectStatus: status, expectUpdatedAt: updatedAt },
      }));
      const { groups } = await engine.act({ groups: [{ actor: this.#actor, note, action, targets }] });
      const items = groups.flatMap((group) => groupItems(group));
      const isDone = ({ result }: { result: string }): boolean =>
        result === 'changed' || result === 'asked' || result === 'unchanged';
      changed += items.filter(isDone).length;
      const stale = items.flatMap(({ id, result }) => (result === 'refused' && id !== null ? [id] : []));
      if (times === listedAgainMax) return { changed, refused: refused + stale.length };
      states = await this.#listAgain(engine, { ...filter, ids: stale });
      refused += states.filter((state) => !allowsAction(action, state)).length;
      states = states.filter((state) => allowsAction(action, state));
    }
    return { changed, refused };
  }

  async #listAgain(engine: Engine, filter: JobFilter & { ids: string[] }): Promise<JobState[]> {
    const states: JobState[] = [];
    if (filter.ids.length === 0) return states;
    let cursor: string | null = null;
    do {
      const page: ListReply = await engine.list({
        ...{ filter, cursor, limit: filter.ids.length, statesOnly: true },
      });
      states.push(...statesOf(page));
      cursor = page.nextCursor;
    } while (cursor !== null);
    return states;
  }
}

interface ActOn {
  action: JobAction;
  note: string | null;
  filter: JobFilter;
  states: JobState[];
}

function statesOf({ states }: ListReply): JobState[] {
  if (states === undefined) throw dulyError('internal', { message: 'The store listed jobs without states.' });
  return states;
}

function readCursor(cursor: unknown): string | null {
  if (cursor === null || typeof cursor === 'string') return cursor;
  throw dulyError('invalid_cursor', {
    message: `Expected a cursor of an earlier page, got ${shown(cursor)}.`,
  });
}
