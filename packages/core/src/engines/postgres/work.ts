import { type DulyError, dulyError, type ErrorCode, isDulyError, toPlainError } from '../../base/errors.ts';
import type {
  GroupReply,
  Notification,
  NotificationKind,
  Reply,
  TransferMark,
} from '../../contract/engine.ts';
import { NotificationSet } from '../../contract/notifications.ts';
import { movedError } from '../../contract/transfer.ts';
import { createPolicies } from '../shared/policies.ts';
import type { ClaimScanHints } from './claim-scan-hints.ts';
import { functionSet } from './generated.ts';

/** A value bound to a statement. Lists and objects are handed over as JSON text by whoever calls. */
export type Value = string | number | boolean | null;

/**
 * What the verbs need of a PostgreSQL connection. One `query` is one round trip and, outside of `transaction`, a transaction of its own.
 * Errors come out as a `DulyError` with a code of the store.
 */
export interface Database {
  /** Runs one statement with `$1`-style values and answers its rows. Statements are never named: a pooler may stand between. */
  query<Row extends object>(text: string, values?: readonly Value[]): Promise<Row[]>;
  /** Runs several statements on one connection, all or nothing. `allow`: from now on it may take so long, locks included. */
  transaction<Result>(
    fn: (database: Database, allow: (ms: number) => Promise<void>) => Promise<Result>,
  ): Promise<Result>;
}

/** The schema that the SQL files are written for. */
const writtenSchema = /\bduly\./g;

/** The name of a function or view of this code's set, for a statement that is composed here. */
export function ofSet(name: string): string {
  return `duly.${name}_f${functionSet.number}`;
}

/** The text of a statement or migration for a store's own schema. The name was checked where the address was read. */
export function inSchema(sql: string, schema: string): string {
  return sql.replaceAll(writtenSchema, `"${schema}".`);
}

/** What every function of the schema that writes answers beside its own fields. */
interface CallReply extends Reply {
  /**
   * The notifications to send now that it is committed: one letter each, and then a line for each type of which there may be jobs, as JSON. The
   * letter `n` means the jobs that the call created.
   */
  notifications?: string;
}

const kindOf: Record<string, NotificationKind> = {
  ...{ j: 'jobs', n: 'jobs', c: 'cancel', s: 'schedules', l: 'locks' },
};

/** The notifications of a reply. `created`: what the call was to create; left out: unknown. */
function readNotifications(text: string, created: Iterable<{ type: string }> | undefined): NotificationSet {
  const [letters, ...types] = text.split('\n') as [string, ...string[]];
  const notifications = new NotificationSet();
  for (const letter of letters) {
    if (letter === 'n' && created !== undefined)
      for (const { type } of created) notifications.add('jobs', type);
    else notifications.add(kindOf[letter] as NotificationKind);
  }
  for (const type of types) notifications.add('jobs', JSON.parse(type) as string);
  return notifications;
}

/** Where the verbs of a work are done: in transactions of their own, or inside one of the user's. */
export type WorkPlace = 'own' | 'user-transaction';

/** How verbs reach the store: its statements by their text, and what is to be told once something is committed. */
export class Work {
  readonly #database: Database;
  readonly #schema: string;
  readonly #notify: (notifications: Notification[]) => void;
  readonly where: WorkPlace;
  readonly #texts = new Map<string, string>();
  /** What a stored policy says. */
  readonly policy = createPolicies();
  /** Where claims begin to scan; null if this work claims nothing. */
  readonly scanHints: ClaimScanHints | null;

  constructor(
    database: Database,
    schema: string,
    notify: (notifications: Notification[]) => void,
    { where = 'own', scanHints = null }: { where?: WorkPlace; scanHints?: ClaimScanHints | null } = {},
  ) {
    this.#database = database;
    this.#schema = schema;
    this.#notify = notify;
    this.where = where;
    this.scanHints = scanHints;
  }

  /** The rows of a statement of this schema. */
  rows<Row extends object>(sql: string, values: readonly Value[]): Promise<Row[]> {
    let text = this.#texts.get(sql);
    if (text === undefined) {
      text = inSchema(sql, this.#schema);
      this.#texts.set(sql, text);
    }
    return this.#asked<Row>(text, values);
  }

  async #asked<Row extends object>(text: string, values: readonly Value[]): Promise<Row[]> {
    try {
      return await this.#database.query<Row>(text, values);
    } catch (error) {
      // What is not there may be so because the store is fenced. A transaction of the user's has failed by now and tells no more.
      if (!unknownNames.has(sqlStateBehind(error) ?? '') || this.where === 'user-transaction') throw error;
      const mark = await this.mark();
      throw mark === null ? error : movedError(mark, String((error as DulyError).details.place ?? ''));
    }
  }

  /** What the store says of a move; null: it was never moved. */
  async mark(): Promise<TransferMark | null> {
    const [row] = await this.#database.query<TransferMark>(
      inSchema('SELECT role, move, place, at FROM duly.transfers', this.#schema),
    );
    return row ?? null;
  }

  /** Several statements of this schema, all or nothing. */
  transaction<Result>(
    fn: (
      rows: <Row extends object>(sql: string, values?: readonly Value[]) => Promise<Row[]>,
      allow: (ms: number) => Promise<void>,
    ) => Promise<Result>,
  ): Promise<Result> {
    return this.#database.transaction((database, allow) =>
      fn((sql, values = []) => database.query(inSchema(sql, this.#schema), values), allow),
    );
  }

  /** The rows of a statement that was put together for this one call. */
  rowsOnce<Row extends object>(sql: string, values: readonly Value[]): Promise<Row[]> {
    return this.#asked<Row>(inSchema(sql, this.#schema), values);
  }

  /**
   * Calls a function of the schema: one round trip, one transaction. Its notifications are sent before this answers. `created`: the jobs that
   * it is to create, whose types the notification names.
   */
  async call<Answer extends object>(
    sql: string,
    values: readonly Value[],
    created?: Iterable<{ type: string }>,
  ): Promise<Answer & Reply> {
    let answer: { reply: string } | undefined;
    try {
      [answer] = await this.rows<{ reply: string }>(sql, values);
    } catch (error) {
      throw raisedError(error) ?? error;
    }
    const reply = readAnswer((answer as { reply: string }).reply) as Answer & CallReply;
    if (reply.notifications !== undefined && reply.notifications !== '') {
      this.#notify([...readNotifications(reply.notifications, created)]);
    }
    return reply;
  }
}

/** Where JSON ends and texts follow that were too long to be written as JSON. No JSON holds it. */
const textMark = '\u001e';

/** What a function of the schema answered: JSON, and perhaps texts behind it. */
function readAnswer(answer: string): object {
  const jsonTo = answer.indexOf(textMark);
  if (jsonTo === -1) return JSON.parse(answer) as object;
  const reply = JSON.parse(answer.slice(0, jsonTo)) as { texts?: string[] };
  reply.texts = answer.slice(jsonTo + 1).split(textMark);
  return reply;
}

// SQLSTATEs of a table, of a type of its rows, and of a function that are not there. A fenced store gets no functions.
const unknownNames = new Set(['42P01', '42704', '42883']);

/** The SQLSTATE of an id that is there already, where many jobs were to be created at once: nothing of the call was done. */
export const uniqueViolation = '23505';

/** The SQLSTATE of a call whose parts cannot be done together: nothing of it was done, and one by one will do. */
export const notTogether = 'DU009';

/** Codes that functions of the schema raise. */
const raised: Record<string, ErrorCode> = {
  DU001: 'group_refused',
  DU002: 'records_conflict',
  DU003: 'lease_lost',
};

/** The SQLSTATE behind an error of the store. */
export function sqlStateBehind(error: unknown): string | null {
  const state = isDulyError(error) ? error.details.sqlState : null;
  return typeof state === 'string' ? state : null;
}

/** What a function of the schema raised on purpose, as an error of Duly. */
function raisedError(error: unknown): DulyError | null {
  const code = raised[sqlStateBehind(error) ?? ''];
  if (code === undefined) return null;
  const { message, hint, detail } = (error as DulyError).cause as {
    message: string;
    hint?: string;
    detail?: string;
  };
  const details = detail === undefined ? {} : (JSON.parse(detail) as Record<string, unknown>);
  return dulyError(code, { message, hint, details });
}

/** A group as functions of the schema answer it. */
export type AnsweredGroup<Item> =
  | { ok: true; items: Item[] }
  | { ok: false; code: ErrorCode; message: string; hint: string; details: Record<string, unknown> };

/** A group's answer as the contract has it. */
export function toGroupReply<Item>(group: AnsweredGroup<Item>): GroupReply<Item> {
  if (group.ok) return group;
  const { code, message, hint, details } = group;
  return { ok: false, error: toPlainError(dulyError(code, { message, hint, details })) };
}

/**
 * Prepares each group in this process; one that is refused here is not sent, and the others are. `send` answers those that were prepared,
 * in their order.
 */
export async function eachGroup<Group, Prepared, Item>(
  groups: readonly Group[],
  prepare: (group: Group) => Prepared,
  send: (prepared: Prepared[]) => Promise<{ now: number; groups: AnsweredGroup<Item>[] }>,
): Promise<{ now: number; groups: GroupReply<Item>[] }> {
  const prepared: Prepared[] = [];
  const replies: (GroupReply<Item> | null)[] = groups.map((group) => {
    try {
      prepared.push(prepare(group));
      return null;
    } catch (error) {
      if (isDulyError(error, 'group_refused')) return { ok: false, error: toPlainError(error) };
      throw error;
    }
  });
  const reply = await send(prepared);
  const answered = reply.groups.values();
  return {
    now: reply.now,
    groups: replies.map((one) => one ?? toGroupReply(answered.next().value as AnsweredGroup<Item>)),
  };
}

/** Free text as PostgreSQL can keep it: without U+0000, and without halves of a surrogate pair. */
export function keepable<Text extends string | null>(text: Text): Text {
  if (text === null || (!text.includes('\0') && text.isWellFormed())) return text;
  return text.replaceAll('\0', '\ufffd').toWellFormed() as Text;
}
