import type { Clock } from '../../base/clock.ts';
import type { PgClient } from './driver.ts';

// A probe takes a millisecond. If it does not arrive within this time, the connection is half open, or a
// pooler gave the LISTEN to another session.
const probeTimeoutMs = 2_000;

/** One connection that listens. */
export interface Listener {
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

/** Options of {@link createListenerOn}. */
export interface ListenerOptions {
  /** A client that is not connected yet. */
  client: PgClient;
  channel: string;
  clock: Clock;
  /** Called with each payload of the channel. */
  receive(payload: string): void;
}

/** Creates a listener on one connection. */
export function createListenerOn({ client, channel, clock, receive }: ListenerOptions): Listener {
  const { promise: ended, resolve } = Promise.withResolvers<void>();
  let isProven = false;
  let isEnded = false;
  let expected: { cancel(): void } | null = null;

  function close(): void {
    if (isEnded) return;
    isEnded = true;
    expected?.cancel();
    // A half-open connection does not answer a closing message, so do not wait for it.
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
      // If it is closed meanwhile, it may never answer.
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
