import { dulyError } from '../base/errors.ts';
import { parseInstant } from '../base/instant.ts';
import { type OptionNames, readOptions, readWholeNumber, readWord, shown } from '../base/option-reader.ts';
import type { ChangeInput, ChangeReply, Count, Engine, JobFilter, JobRecord } from '../contract/engine.ts';
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

/** What can be done to all jobs that match. */
export type JobAction = ChangeInput['action'];

/** What an action on many jobs came to. */
export interface ActionResult {
  changed: number;
  /** Jobs that match and whose status does not allow it. */
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
const jobActions: readonly JobAction[] = ['cancel', 'terminate', 'retry', 'discard', 'delete'];

const pageSizeDefault = 100;
const pageSizeMax = 1_000;
// One transaction per page: large enough to be quick, small enough that nobody waits long for it.
const actionPageSize = 500;
const actionPageSizeMax = 10_000;
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
      // Nothing is done in a dry run, and every job that matches is counted, whatever its status allows.
      const page: { changed: number; refused: number; nextCursor: string | null } = await engine.change({
        actor: this.#actor,
        filter: this.#filter,
        action: 'delete',
        note: null,
        cursor,
        limit: Math.min(pageSizeMax, limit + 1 - count),
        dryRun: true,
      });
      count += page.changed + page.refused;
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

  /** Removes all finished ones that match. */
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
    return this.#change(verb, given, { cursor: readCursor(given.cursor ?? null), limit });
  }

  async #act(action: JobAction, given: ActionOptions | undefined): Promise<ActionResult> {
    const { expected, ...options } = readOptions(given, `${action}()`, actionNames);
    const everything = { cursor: null, limit: Number.POSITIVE_INFINITY };
    if (expected === undefined || options.dryRun) {
      const { nextCursor: _, ...result } = await this.#change(action, options, everything);
      return result;
    }
    const most = readWholeNumber(expected, 'expected', 0, Number.MAX_SAFE_INTEGER);
    const found = await this.#change(action, { ...options, dryRun: true }, everything);
    if (found.changed > most) {
      throw dulyError('too_many_match', {
        message: `Expected at most ${most} jobs to change, but ${found.changed} would. Nothing was changed.`,
        hint: 'Count again with a dry run, then repeat the action with the new number.',
        details: { expected: most, found: found.changed },
      });
    }
    const { refused, asOf = 0 } = found;
    return { changed: await this.#changeAtMost(action, { ...options, asOf }, most), refused };
  }

  /** Changes jobs by their ids, page by page, and stops at `most`: other jobs may begin to match meanwhile. */
  async #changeAtMost(action: JobAction, options: ActionOptions, most: number): Promise<number> {
    let changed = 0;
    let cursor: string | null = null;
    do {
      const from = { cursor, limit: actionPageSize };
      const page: ActionPage = await this.#change(action, { ...options, dryRun: true }, from);
      const ids = page.ids?.slice(0, most - changed) ?? [];
      if (ids.length > 0) {
        const byId = { cursor: null, limit: ids.length, filter: { ...this.#filter, ids } };
        changed += (await this.#change(action, options, byId)).changed;
      }
      cursor = page.nextCursor;
    } while (cursor !== null && changed < most);
    return changed;
  }

  /** Acts on at most `limit` jobs, page by page. */
  async #change(
    action: JobAction,
    { note, dryRun = false, asOf: given }: ActionOptions,
    {
      cursor: from,
      limit,
      filter = this.#filter,
    }: { cursor: string | null; limit: number; filter?: JobFilter },
  ): Promise<ActionPage> {
    const engine = await this.#engine();
    const result: ActionResult = { changed: 0, refused: 0 };
    const ids: string[] = [];
    let asOf = given === undefined ? undefined : parseInstant(given, 'asOf');
    let cursor = from;
    let left = limit;
    do {
      const page: ChangeReply = await engine.change({
        actor: this.#actor,
        filter: asOf === undefined ? filter : { ...filter, asOf },
        action,
        note: readNote(note),
        cursor,
        limit: Math.min(actionPageSize, left),
        dryRun,
      });
      // Later pages count at the instant of the first.
      if (dryRun) asOf ??= page.now;
      result.changed += page.changed;
      result.refused += page.refused;
      if (ids.length < reportedIdsMax) ids.push(...page.ids);
      left -= page.changed + page.refused;
      cursor = page.nextCursor;
    } while (cursor !== null && left > 0);
    if (dryRun) {
      result.ids = ids.slice(0, reportedIdsMax);
      result.asOf = new Date(asOf as number);
    }
    return { ...result, nextCursor: cursor };
  }
}

function readCursor(cursor: unknown): string | null {
  if (cursor === null || typeof cursor === 'string') return cursor;
  throw dulyError('invalid_cursor', {
    message: `Expected a cursor of an earlier page, got ${shown(cursor)}.`,
  });
}
