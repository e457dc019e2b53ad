import type { Notification, NotificationKind } from '../../contract/engine.ts';

// PostgreSQL takes payloads of less than 8000 bytes. These are ASCII.
const lengthMax = 7_900;

/** What is sent to other processes: `<sender> jobs:<type>,<type> cancel`. It holds no quote and no backslash, so it needs no escaping in SQL. */
export function writePayload(sender: string, notifications: readonly Notification[]): string {
  const full = [sender, ...notifications.map(written)].join(' ');
  if (full.length <= lengthMax) return full;
  return [sender, ...notifications.map(({ kind }) => kind)].join(' ');
}

/** The sender and its notifications. */
export function readPayload(payload: string): { sender: string; notifications: Notification[] } {
  const [sender, ...rest] = payload.split(' ') as [string, ...string[]];
  return { sender, notifications: rest.map(read) };
}

function written({ kind, types }: Notification): string {
  return types === undefined ? kind : `${kind}:${types.map(encoded).join(',')}`;
}

function read(text: string): Notification {
  const [kind, types] = text.split(':') as [NotificationKind, string?];
  if (types === undefined) return { kind };
  try {
    return { kind, types: types.split(',').map(decodeURIComponent) };
  } catch {
    // Not written by `writePayload`: any type.
    return { kind };
  }
}

/** Leaves of the printable characters only letters, digits and -_.!~*() as they are. */
function encoded(type: string): string {
  return encodeURIComponent(type).replaceAll("'", '%27');
}
