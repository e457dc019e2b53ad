import { dulyError } from '../base/errors.ts';
import { type OptionNames, readOptions, readWholeNumber, readWord, shown } from '../base/option-reader.ts';
import type { Engine, LockHolder } from '../contract/engine.ts';
import { type LockKind, readLockName, storedLockName } from './held-lock.ts';

/** Which locks to list. */
export interface LockListOptions {
  /** Only those of `duly.lock` and `duly.locks` (`lock`), of `duly.leader` (`leader`) or of `duly.once` (`once`). Left out: all. */
  kind?: LockKind;
  /** Only those whose names begin so. */
  prefix?: string;
  /** 1 to 1000, default 100. */
  limit?: number;
  /** `nextCursor` of the page before. */
  cursor?: string | null;
}

/** A lock that somebody holds. */
export interface LockView {
  kind: LockKind;
  name: string;
  fence: number;
  holder: LockHolder;
  /** When it ends without renewal, and how long that is by the store's clock. */
  until: Date;
  ttlMs: number;
}

/** A page of them: by kind, then by name. */
export interface LockPage {
  locks: LockView[];
  nextCursor: string | null;
}

const names: OptionNames<LockListOptions> = { kind: true, prefix: true, limit: true, cursor: true };

/** The kinds in the order in which the store has their names. */
const kinds: readonly LockKind[] = ['leader', 'lock', 'once'];

const cursorStart = 'after:';

/** Reads a page of the locks that are held. */
export async function listLocks(
  engine: Pick<Engine, 'heldLocks'>,
  given: LockListOptions | undefined,
): Promise<LockPage> {
  const options = readOptions(given, 'locks.list()', names);
  const only = options.kind === undefined ? kinds : [readWord(options.kind, 'kind', kinds)];
  const prefix = options.prefix === undefined ? '' : readLockName(options.prefix, 'locks.list()', 'prefix');
  const limit = options.limit === undefined ? 100 : readWholeNumber(options.limit, 'limit', 1, 1_000);
  const after = readCursor(options.cursor ?? null);
  const locks: LockView[] = [];
  for (const kind of only) {
    // One more than asked for tells whether there are more.
    const { locks: held, now } = await engine.heldLocks({
      ...{ prefix: storedLockName({ kind, name: prefix }), after },
      limit: limit + 1 - locks.length,
    });
    for (const { name, fence, holder, untilAt } of held) {
      locks.push({
        ...{ kind, name: name.slice(kind.length + 1), fence, holder },
        ...{ until: new Date(untilAt), ttlMs: untilAt - now },
      });
    }
    if (locks.length > limit) break;
  }
  if (locks.length <= limit) return { locks, nextCursor: null };
  locks.length = limit;
  return { locks, nextCursor: `${cursorStart}${storedLockName(locks.at(-1) as LockView)}` };
}

function readCursor(cursor: unknown): string | null {
  if (cursor === null) return null;
  const text = typeof cursor === 'string' && cursor.startsWith(cursorStart) ? cursor : null;
  if (text !== null) return readLockName(text.slice(cursorStart.length), 'locks.list()', 'cursor');
  throw dulyError('invalid_cursor', {
    message: `Expected a cursor that the list of locks gave, got ${shown(cursor)}.`,
    hint: 'Leave the cursor out to begin from the first.',
  });
}
