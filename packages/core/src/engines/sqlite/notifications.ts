import type { Notification } from '../../contract/engine.ts';
import { type Notifier, notifierPath, openNotifier } from './notifier.ts';

/** The notifications of one engine: between processes, and to the listeners in this one. */
export interface Notifications {
  /** Whether notifications of other processes could be received when the store was opened. */
  readonly isReceiving: boolean;
  /** Notifies other processes and this one of a commit. */
  send(notifications: Iterable<Notification>): void;
  /** Sends a probe through the whole path. */
  probe(): void;
  /** Calls `listener` with each notification, until the returned function is called. */
  subscribe(listener: (notification: Notification) => void): () => void;
  /** Whether another process has announced jobs since the last call. */
  takeJobsAnnounced(): boolean;
  close(): void;
}

/** Opens the notifications of a store. `isShared`: other processes may have the file open. */
export function openNotifications(options: {
  path: string;
  isShared: boolean;
  warnings: string[];
}): Notifications {
  const listeners = new Set<(notification: Notification) => void>();
  let isJobsAnnounced = false;
  let isClosed = false;
  const deliver = (notification: Notification): void => {
    for (const listener of [...listeners]) listener(notification);
  };
  const notifier = options.isShared
    ? tryNotifier(options.path, options.warnings, (notification) => {
        if (notification.kind === 'jobs') isJobsAnnounced = true;
        deliver(notification);
      })
    : null;

  return {
    isReceiving: notifier?.isReceiving === true,
    send(notifications) {
      if (isClosed) return;
      notifier?.notify(notifications);
      for (const notification of notifications) deliver(notification);
    },
    probe() {
      if (notifier === null) deliver({ kind: 'probe' });
      else notifier.notify([{ kind: 'probe' }]);
    },
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    takeJobsAnnounced() {
      const wasAnnounced = isJobsAnnounced;
      isJobsAnnounced = false;
      return wasAnnounced;
    },
    close() {
      isClosed = true;
      notifier?.close();
    },
  };
}

/** Without a notifier, notifications of other processes are not received and polling finds the work. */
function tryNotifier(
  path: string,
  warnings: string[],
  onNotification: (notification: Notification) => void,
): Notifier | null {
  try {
    return openNotifier(path, onNotification);
  } catch (error) {
    warnings.push(
      `Notifications of other processes cannot be received: "${notifierPath(path)}" cannot be opened (${(error as Error).message}).`,
    );
    return null;
  }
}
