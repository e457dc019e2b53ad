import type { Clock } from '../../base/clock.ts';
import type { Random } from '../../base/random.ts';
import type { Notification } from '../../contract/engine.ts';
import type { PgClient } from './driver.ts';
import type { Database } from './work.ts';

/** Options of {@link createNotifier}. */
export interface NotifierOptions {
  /** Sends: through the same connections as every call. */
  database: Database;
  /** Creates the connection that listens; null: none is available. */
  createListener(): PgClient | null;
  schema: string;
  clock: Clock;
  random: Random;
  /** Called with notifications of other processes, with the probe of this one, and with `disconnected`. */
  onNotification(notification: Notification): void;
}

/** Notifies other processes on the same schema that there may be work, and receives their notifications. */
export interface Notifier {
  /** Starts to listen, until it is closed; later calls do nothing. */
  listen(): void;
  /** Sends notifications, those of one moment together. Never fails: a lost notification costs a poll. */
  notify(notifications: Iterable<Notification>): void;
  /** Sends a probe through the whole path. */
  probe(): Promise<void>;
  close(): Promise<void>;
}

// Every NOTIFY takes one lock of the whole server for a moment, and wakes every listener. A first one goes at once; under load
// the next ones of a process are collected for this long.
const gapMs = 5;
// A probe takes a millisecond. One that has not arrived after this long never will: the connection is half open, or a pooler has
// given our LISTEN to a session that is not ours.
const probeTimeoutMs = 2_000;
const firstBackoffMs = 100;
// A pooler stays a pooler: it is asked again now and then, in case the address leads somewhere else one day.
const backoffMsMax = 60_000;

// The commit of a notification need not reach the disk: what it is about has. Two statements without values are one message and one transaction, and
// neither needs a plan: half the work of a SELECT that does the same, on both sides.
const notifyStatement = (channel: string, payload: string): string =>
  `SET LOCAL synchronous_commit = off; NOTIFY "${channel}", '${payload}'`;

const kinds: readonly Notification[] = ['jobs', 'cancel', 'schedules', 'locks'];

/** Creates the notifier of one engine. */
export function createNotifier(options: NotifierOptions): Notifier {
  const { database, createListener, schema, clock, random, onNotification } = options;
  const channel = channelOf(schema);
  const sender = Math.floor(random.next() * 2 ** 52).toString(36);
  const closing = new AbortController();
  const pending = new Set<Notification>();
  let sending: Promise<void> | null = null;
  let listening: Promise<void> | null = null;
  /** The connection that listens now. */
  let listener: Listener | null = null;

  async function sendPending(): Promise<void> {
    while (pending.size > 0) {
      const notifications = [...pending];
      pending.clear();
      // The change is committed, so its caller must not see a failure; the next poll finds the work.
      await post(notifications).catch(() => {});
      await clock.sleep(gapMs, closing.signal);
    }
    sending = null;
  }

  async function post(notifications: Notification[]): Promise<void> {
    await database.query(notifyStatement(channel, `${sender} ${notifications.join(' ')}`));
  }

  function receive(payload: string): void {
    const [from, ...notifications] = payload.split(' ') as [string, ...Notification[]];
    for (const notification of notifications) {
      // This process knows what it did; only the probe matters, as a proof that notifications arrive.
      if ((from === sender) !== (notification === 'probe')) continue;
      if (notification === 'probe') listener?.onProbe();
      onNotification(notification);
    }
  }

  async function probe(): Promise<void> {
    listener?.expectProbe();
    await post(['probe']);
  }

  async function listenOn(): Promise<void> {
    let failures = 0;
    let hasListened = false;
    while (!closing.signal.aborted) {
      const client = createListener();
      if (client === null) return;
      const one = createListenerOn({ client, channel, clock, receive });
      listener = one;
      const isOpen = await one.open();
      if (isOpen) {
        // Notifications sent while this process did not listen are lost.
        if (hasListened) for (const kind of kinds) onNotification(kind);
        await probe().catch(() => one.close());
        await one.ended;
      }
      listener = null;
      hasListened ||= one.isProven();
      failures = one.isProven() ? 1 : failures + 1;
      if (closing.signal.aborted) return;
      onNotification('disconnected');
      const pauseMs = Math.min(firstBackoffMs * 2 ** (failures - 1), backoffMsMax);
      // Half to the whole: the nodes that lost one server must not come back together.
      await clock.sleep(pauseMs * (0.5 + random.next() / 2), closing.signal);
    }
  }

  return {
    listen() {
      if (!closing.signal.aborted) listening ??= listenOn();
    },
    notify(notifications) {
      for (const notification of notifications) pending.add(notification);
      if (pending.size > 0 && !closing.signal.aborted) sending ??= sendPending();
    },
    probe,
    async close() {
      closing.abort();
      listener?.close();
      await sending;
      await listening;
    },
  };
}

/** The channel of a schema. Stores in one database do not receive each other's notifications. */
export function channelOf(schema: string): string {
  return `duly.${schema}`;
}

/** One connection that listens. */
interface Listener {
  /** Connects and listens; false: it could not. */
  open(): Promise<boolean>;
  /** Closes the connection unless a probe arrives in time. */
  expectProbe(): void;
  onProbe(): void;
  /** Whether a probe has ever arrived over it. */
  isProven(): boolean;
  /** Settles when the connection has ended, for any reason. */
  readonly ended: Promise<void>;
  close(): void;
}

interface ListenerOptions {
  client: PgClient;
  channel: string;
  clock: Clock;
  receive(payload: string): void;
}

function createListenerOn({ client, channel, clock, receive }: ListenerOptions): Listener {
  const { promise: ended, resolve } = Promise.withResolvers<void>();
  let isProven = false;
  let isEnded = false;
  let expected: { cancel(): void } | null = null;

  function close(): void {
    if (isEnded) return;
    isEnded = true;
    expected?.cancel();
    // A half-open connection does not answer to a goodbye, so it is not waited for.
    client.end().catch(() => {});
    client.connection?.stream?.destroy();
    resolve();
  }

  client.on('notification', (message) => {
    if (message.channel === channel && !isEnded) receive(message.payload ?? '');
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
      return !isEnded;
    },
    expectProbe() {
      expected ??= clock.after(probeTimeoutMs, close, { unref: true });
    },
    onProbe() {
      isProven = true;
      expected?.cancel();
      expected = null;
    },
    isProven: () => isProven,
    close,
  };
}
