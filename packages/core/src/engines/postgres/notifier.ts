import type { Clock } from '../../base/clock.ts';
import type { Random } from '../../base/random.ts';
import type { Hint } from '../../contract/engine.ts';
import type { PgClient } from './driver.ts';
import type { Database } from './work.ts';

/** What hints between processes are made of. */
export interface NoticesOptions {
  /** Sends: through the same connections as every call. */
  database: Database;
  /** Makes the connection that hears; null: there is none to be had. */
  createListener(): PgClient | null;
  schema: string;
  clock: Clock;
  random: Random;
  /** Called with hints of other processes, with the echo of this one, and with `deaf`. */
  onHint(hint: Hint): void;
}

/** Tells other processes on the same schema that something may be there to do, and hears it from them. */
export interface Notices {
  /** Begins to listen, and goes on until it is closed; later calls do nothing. */
  listen(): void;
  /** Sends hints, those of one moment together. Never fails: a lost hint costs a poll. */
  send(hints: Iterable<Hint>): void;
  /** Sends an echo through the whole path. */
  ring(): Promise<void>;
  close(): Promise<void>;
}

// Every NOTIFY takes one lock of the whole server for a moment, and wakes every listener. A first one goes at once; under load
// the next ones of a process are collected for this long.
const gapMs = 5;
// An echo takes a millisecond. One that has not come after this long will not come: the connection is half open, or a pooler has
// given our LISTEN to a session that is not ours.
const echoMs = 2_000;
const firstBackoffMs = 100;
// A pooler stays a pooler: it is asked again now and then, in case the address leads somewhere else one day.
const backoffMsMax = 60_000;

// The commit of a hint need not reach the disk: what it is about has. Two statements without values are one message and one transaction, and
// neither needs a plan: half the work of a SELECT that does the same, on both sides.
const notify = (channel: string, payload: string): string =>
  `SET LOCAL synchronous_commit = off; NOTIFY "${channel}", '${payload}'`;

const kinds: readonly Hint[] = ['jobs', 'cancel', 'schedules', 'locks'];

/** Makes the hints of one engine. */
export function createNotices(options: NoticesOptions): Notices {
  const { database, createListener, schema, clock, random, onHint } = options;
  const channel = channelOf(schema);
  const sender = Math.floor(random.next() * 2 ** 52).toString(36);
  const closing = new AbortController();
  const pending = new Set<Hint>();
  let sending: Promise<void> | null = null;
  let listening: Promise<void> | null = null;
  /** The connection that listens now. */
  let ear: Ear | null = null;

  async function sendPending(): Promise<void> {
    while (pending.size > 0) {
      const hints = [...pending];
      pending.clear();
      // What is rung for is committed: its caller must not be told that it failed, and the next poll finds the work.
      await post(hints).catch(() => {});
      await clock.sleep(gapMs, closing.signal);
    }
    sending = null;
  }

  async function post(hints: Hint[]): Promise<void> {
    await database.query(notify(channel, `${sender} ${hints.join(' ')}`));
  }

  function hear(payload: string): void {
    const [from, ...hints] = payload.split(' ') as [string, ...Hint[]];
    for (const hint of hints) {
      // What this process did it knows already; only the echo is news, as a proof that hints arrive.
      if ((from === sender) !== (hint === 'echo')) continue;
      if (hint === 'echo') ear?.echoed();
      onHint(hint);
    }
  }

  async function ring(): Promise<void> {
    ear?.expectEcho();
    await post(['echo']);
  }

  async function listenOn(): Promise<void> {
    let failures = 0;
    let hasHeard = false;
    while (!closing.signal.aborted) {
      const client = createListener();
      if (client === null) return;
      const one = createEar({ client, channel, clock, hear });
      ear = one;
      const isOpen = await one.open();
      if (isOpen) {
        // Whatever was sent while nobody listened is lost.
        if (hasHeard) for (const kind of kinds) onHint(kind);
        await ring().catch(() => one.close());
        await one.ended;
      }
      ear = null;
      hasHeard ||= one.isProven();
      failures = one.isProven() ? 1 : failures + 1;
      if (closing.signal.aborted) return;
      onHint('deaf');
      const pauseMs = Math.min(firstBackoffMs * 2 ** (failures - 1), backoffMsMax);
      // Half to the whole: the nodes that lost one server must not come back together.
      await clock.sleep(pauseMs * (0.5 + random.next() / 2), closing.signal);
    }
  }

  return {
    listen() {
      if (!closing.signal.aborted) listening ??= listenOn();
    },
    send(hints) {
      for (const hint of hints) pending.add(hint);
      if (pending.size > 0 && !closing.signal.aborted) sending ??= sendPending();
    },
    ring,
    async close() {
      closing.abort();
      ear?.close();
      await sending;
      await listening;
    },
  };
}

/** The channel of a schema. Stores in one database do not hear each other. */
export function channelOf(schema: string): string {
  return `duly.${schema}`;
}

/** One connection that listens. */
interface Ear {
  /** Connects and listens; false: it could not. */
  open(): Promise<boolean>;
  /** Gives the connection up unless an echo comes in time. */
  expectEcho(): void;
  echoed(): void;
  /** Whether an echo has ever come over it. */
  isProven(): boolean;
  /** Settles when the connection is over, for whatever reason. */
  readonly ended: Promise<void>;
  close(): void;
}

interface EarOptions {
  client: PgClient;
  channel: string;
  clock: Clock;
  hear(payload: string): void;
}

function createEar({ client, channel, clock, hear }: EarOptions): Ear {
  const { promise: ended, resolve } = Promise.withResolvers<void>();
  let isProven = false;
  let isOver = false;
  let expected: { cancel(): void } | null = null;

  function close(): void {
    if (isOver) return;
    isOver = true;
    expected?.cancel();
    // A half-open connection does not answer to a goodbye, so it is not waited for.
    client.end().catch(() => {});
    client.connection?.stream?.destroy();
    resolve();
  }

  client.on('notification', (message) => {
    if (message.channel === channel && !isOver) hear(message.payload ?? '');
  });
  client.on('error', close);
  client.on('end', close);

  return {
    ended,
    async open() {
      const listening = client.connect().then(() => client.query({ text: `LISTEN "${channel}"` }));
      listening.catch(close);
      // Closed meanwhile, it may never answer.
      await Promise.race([listening, ended]).catch(() => {});
      return !isOver;
    },
    expectEcho() {
      expected ??= clock.after(echoMs, close, { unref: true });
    },
    echoed() {
      isProven = true;
      expected?.cancel();
      expected = null;
    },
    isProven: () => isProven,
    close,
  };
}
