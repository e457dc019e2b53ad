import { type Clock, systemClock } from '../base/clock.ts';
import { dulyError, isDulyError } from '../base/errors.ts';
import { createIds } from '../base/ids.ts';
import { systemRandom } from '../base/random.ts';
import type {
  Engine,
  ExportRowsReply,
  TransferCounts,
  TransferInput,
  TransferMark,
  TransferPart,
  TransferReply,
} from '../contract/engine.ts';
import { movedError, transferParts } from '../contract/transfer.ts';
import { openEngine } from '../store/open-engine.ts';
import { parseStoreAddress, withoutPassword } from '../store/store-url.ts';

/** From where to where. */
export interface MoveOptions {
  /** The store's address. */
  from: string;
  /** The address of an empty store, or of one in which an interrupted move was to arrive. */
  to: string;
  /** Only tell what would be moved. */
  dryRun?: boolean;
  /** Told after every page. */
  onProgress?(progress: { part: TransferPart; done: number; count: number }): void;
  clock?: Clock;
}

/** What became of a move. */
export interface Moved {
  /** Names the move in both stores. */
  move: string | null;
  /** `moved`: now. `already`: before, and nothing was done. `dry`: nothing was done, because so it was told. */
  result: 'moved' | 'already' | 'dry';
  from: string;
  to: string;
  /** What was, or would be, taken along. */
  counts: TransferCounts;
  /** Nodes that run on the source; they stop. 0 when it was fenced before. */
  nodes: number;
}

const pageCount = 1_000;
// Somebody's transaction may hold a table for a moment; the fence waits two seconds each time, and then lets everyone through.
const fenceTries = 15;

/**
 * Moves everything a store holds to another one: live jobs, schedules with their cursors, the ledger, records, keys, values, locks, dead letters, history and audit, and counters that must
 * not go back. From the moment it is fenced the source refuses every call with `store_moved`; the target takes calls when everything is there. Whatever interrupts it, the same call again
 * goes on. Throws `store_not_empty`, and `move_incomplete` where the two do not hold the same in the end; then the target stays shut.
 */
export async function moveStore(options: MoveOptions): Promise<Moved> {
  const { clock = systemClock } = options;
  const from = await openEngine(existing(options.from), clock);
  try {
    const to = await openEngine(options.to, clock);
    try {
      refuseSame(from, to);
      return await move(from, to, options);
    } finally {
      await to.close();
    }
  } finally {
    await from.close();
  }
}

/**
 * Gives up a move that was begun and has not ended: what came to the target is dropped, and the source takes calls again. A move that ended stays: move back instead.
 */
export async function abandonMove({ from, to, clock = systemClock }: MoveOptions): Promise<boolean> {
  const [source, target] = [await openEngine(existing(from), clock), await openEngine(to, clock)];
  try {
    const { mark } = await look(target);
    const { mark: left } = await look(source);
    if (mark?.role === 'arrived' && mark.move === left?.move) return false;
    // The target first: as long as the source is fenced, the move can still be repeated.
    if (mark?.role === 'target') await target.transfer(stepOf('reopen', mark.move, ''));
    if (left?.role === 'source') await source.transfer(stepOf('reopen', left.move, ''));
    return mark?.role === 'target' || left?.role === 'source';
  } finally {
    await source.close();
    await target.close();
  }
}

async function move(from: Engine, to: Engine, options: MoveOptions): Promise<Moved> {
  const { dryRun = false, onProgress, clock = systemClock } = options;
  const places = { from: withoutPassword(options.from), to: withoutPassword(options.to) };
  const [source, target] = [await look(from), await look(to)];
  const begun = begunMove(source.mark, target.mark, places);
  const result = { ...places, counts: source.counts, nodes: source.nodes };
  if (begun !== null && target.mark?.role === 'arrived') return { ...result, move: begun, result: 'already' };
  if (dryRun) {
    refuseFilled(target, begun);
    return { ...result, move: begun, result: 'dry' };
  }
  const id = begun ?? createIds({ clock, random: systemRandom }).newId('move');
  await to.transfer(stepOf('arrive', id, places.from));
  await fence(from, stepOf('leave', id, places.to), clock);
  // What an interrupted move brought may be the half of something.
  await to.transfer(stepOf('clear', id, ''));
  const { counts } = await look(from);
  await copyParts(from, to, {
    move: id,
    onPage: (part, done) => onProgress?.({ part, done, count: counts[part] }),
  });
  const [left, arrived] = [await look(from), await look(to)];
  refuseDifferent(left, arrived);
  await to.transfer({ ...stepOf('settle', id, ''), counters: left.counters });
  return { ...result, counts: left.counts, move: id, result: 'moved' };
}

/** How the parts of a store are copied. */
export interface CopyOptions {
  move: string;
  /** The instant that rules, for tests. */
  now?: number;
  onPage?(part: TransferPart, done: number): void;
}

/** Copies all parts of a fenced store into one that arrives. */
export async function copyParts(from: Engine, to: Engine, options: CopyOptions): Promise<void> {
  const { move: id, now, onPage } = options;
  const stamp = now === undefined ? {} : { now };
  for (const part of transferParts) {
    let done = 0;
    let after: (string | number)[] | null = null;
    do {
      const page: ExportRowsReply = await from.exportRows({ part, after, limit: pageCount, ...stamp });
      if (page.rows.length > 0) await to.importRows({ move: id, part, rows: page.rows, ...stamp });
      done += page.rows.length;
      after = page.next;
      onPage?.(part, done);
    } while (after !== null);
  }
}

/** The move that both stores know of, or that one of them was told of before the other could be; null: none was begun. */
function begunMove(
  source: TransferMark | null,
  target: TransferMark | null,
  places: { from: string; to: string },
): string | null {
  if (source?.role === 'source') {
    if (target !== null && target.move === source.move) return source.move;
    throw movedError(source, places.from);
  }
  if (source?.role === 'target') throw movedError(source, places.from);
  if (target?.role === 'source') throw movedError(target, places.to);
  if (target?.role !== 'target') return null;
  if (target.place !== places.from) throw movedError(target, places.to);
  return target.move;
}

/** Shuts the source. Whoever works on it at this moment is waited for. */
async function fence(engine: Engine, step: TransferInput, clock: Clock): Promise<void> {
  for (let tries = 1; ; tries++) {
    try {
      await engine.transfer(step);
      return;
    } catch (error) {
      if (!isDulyError(error, 'store_busy') || tries === fenceTries) throw error;
      await clock.sleep(500);
    }
  }
}

function look(engine: Engine): Promise<TransferReply> {
  return engine.transfer(stepOf('look', '', ''));
}

function stepOf(step: TransferInput['step'], id: string, place: string): TransferInput {
  return { step, move: id, place, counters: null };
}

function refuseFilled({ counts, nodes }: TransferReply, begun: string | null): void {
  if (begun !== null) return;
  const filled = Object.entries(counts).find(([, count]) => count > 0);
  if (filled === undefined && nodes === 0) return;
  throw dulyError('store_not_empty', {
    message: 'The store that is to be moved to is not empty, or nodes run on it.',
    hint: 'Name an empty store, and start nodes on it when the move is done.',
    details: { counts, nodes },
  });
}

function refuseDifferent(left: TransferReply, arrived: TransferReply): void {
  const parts = transferParts.filter((part) => left.counts[part] !== arrived.counts[part]);
  if (parts.length === 0) return;
  const words = parts.map((part) => `${part}: ${left.counts[part]} left, ${arrived.counts[part]} arrived`);
  throw dulyError('move_incomplete', {
    message: `Not everything arrived (${words.join('; ')}). Both stores stay shut.`,
    hint: 'Repeat the move, or give it up with --abandon: then the source takes calls again.',
    details: { left: left.counts, arrived: arrived.counts },
  });
}

function refuseSame(from: Engine, to: Engine): void {
  const [one, other] = [from.info(), to.info()];
  if (one.kind !== other.kind || one.place !== other.place || one.id !== other.id) return;
  throw dulyError('invalid_option', {
    message: `Expected "to" to be another store than "from", got "${other.place}" twice.`,
    hint: 'Name the empty store that it is to be moved to.',
  });
}

/** Where there is no store, none is made only to be moved. What is in a file was looked for by whoever asks. */
function existing(store: string): string {
  if (parseStoreAddress(store).kind !== 'postgres') return store;
  return `${store}${store.includes('?') ? '&' : '?'}existing=1`;
}
