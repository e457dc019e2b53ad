import type { Clock } from '../../base/clock.ts';
import type { Random } from '../../base/random.ts';
import type { Notification, NotificationKind } from '../../contract/engine.ts';
import { NotificationSet } from '../../contract/notifications.ts';
import type { PgClient } from './driver.ts';
import { createListenerOn, type Listener } from './listener.ts';
import { readPayload, writePayload } from './notification-payload.ts';
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

// Every NOTIFY takes one lock of the whole server and wakes every listener. The first one is sent at once;
// under load, the next ones of a process are collected for this long.
const gapMs = 5;
const firstBackoffMs = 100;
// Behind a pooler, notifications never arrive. The process retries in case the URL leads elsewhere later.
const backoffMsMax = 60_000;

// The change itself is on the disk, so the notification's commit need not be. Two statements without values
// are one message and one transaction without a plan: half the work of a SELECT.
const notifyStatement = (channel: string, payload: string): string =>
  `SET LOCAL synchronous_commit = off; NOTIFY "${channel}", '${payload}'`;

const kinds: readonly NotificationKind[] = ['jobs', 'cancel', 'schedules', 'locks'];

/** Creates the notifier of one engine. */
export function createNotifier(options: NotifierOptions): Notifier {
  const { database, createListener, schema, clock, random, onNotification } = options;
  const channel = channelOf(schema);
  const sender = Math.floor(random.next() * 2 ** 52).toString(36);
  const closing = new AbortController();
  const outgoing = createOutgoing({ database, channel, sender, clock, closing: closing.signal });
  let listening: Promise<void> | null = null;
  /** The connection that listens now. */
  let listener: Listener | null = null;

  function receive(payload: string): void {
    const { sender: from, notifications } = readPayload(payload);
    for (const notification of notifications) {
      const isProbe = notification.kind === 'probe';
      // Of its own notifications a process needs only the probe, which proves that notifications arrive.
      if ((from === sender) !== isProbe) continue;
      if (isProbe) listener?.onProbe();
      onNotification(notification);
    }
  }

  async function probe(): Promise<void> {
    listener?.expectProbe();
    await outgoing.post([{ kind: 'probe' }]);
  }

  /** Listens on one connection after the other, until the notifier is closed. */
  async function keepListening(): Promise<void> {
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
        if (hasListened) for (const kind of kinds) onNotification({ kind });
        await probe().catch(() => one.close());
        await one.ended;
      }
      listener = null;
      hasListened ||= one.isProven();
      failures = one.isProven() ? 1 : failures + 1;
      if (closing.signal.aborted) return;
      onNotification({ kind: 'disconnected' });
      const pauseMs = Math.min(firstBackoffMs * 2 ** (failures - 1), backoffMsMax);
      // Half to the whole: the nodes that lost one server must not come back together.
      await clock.sleep(pauseMs * (0.5 + random.next() / 2), closing.signal);
    }
  }

  return {
    listen() {
      if (!closing.signal.aborted) listening ??= keepListening();
    },
    notify: outgoing.notify,
    probe,
    async close() {
      closing.abort();
      listener?.close();
      await outgoing.finished();
      await listening;
    },
  };
}

interface OutgoingOptions {
  database: Database;
  channel: string;
  /** Names this process in its notifications. */
  sender: string;
  clock: Clock;
  /** Aborted when the notifier closes. */
  closing: AbortSignal;
}

/** The notifications that this process sends. */
interface Outgoing {
  notify(notifications: Iterable<Notification>): void;
  /** Sends these at once. */
  post(notifications: Notification[]): Promise<void>;
  /** Settles when no notification is left to send. */
  finished(): Promise<void>;
}

function createOutgoing({ database, channel, sender, clock, closing }: OutgoingOptions): Outgoing {
  const pending = new NotificationSet();
  let sending: Promise<void> | null = null;

  async function post(notifications: Notification[]): Promise<void> {
    await database.query(notifyStatement(channel, writePayload(sender, notifications)));
  }

  async function sendPending(): Promise<void> {
    while (pending.size > 0) {
      // The change is committed, so its caller must not see a failure; the next poll finds the work.
      await post(pending.takeAll()).catch(() => {});
      await clock.sleep(gapMs, closing);
    }
    sending = null;
  }

  return {
    notify(notifications) {
      pending.addAll(notifications);
      if (pending.size > 0 && !closing.aborted) sending ??= sendPending();
    },
    post,
    async finished() {
      await sending;
    },
  };
}

/** The channel of a schema. Stores in one database do not receive each other's notifications. */
export function channelOf(schema: string): string {
  return `duly.${schema}`;
}
