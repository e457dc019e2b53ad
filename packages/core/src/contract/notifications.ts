import type { Notification, NotificationKind } from './engine.ts';

// So a notification stays small. A worker is likely to handle one of so many types anyway.
const typesMax = 8;

/** Whether a notification is about jobs of one of these types. */
export function isAboutJobs({ kind, types }: Notification, handled: { has(type: string): boolean }): boolean {
  return kind === 'jobs' && (types === undefined || types.some((type) => handled.has(type)));
}

/** Notifications that are sent together: one for each kind, with the types of all. One of any type, or too many types, make it any. */
export class NotificationSet implements Iterable<Notification> {
  /** Null: any type. */
  readonly #types = new Map<NotificationKind, Set<string> | null>();

  get size(): number {
    return this.#types.size;
  }

  has(kind: NotificationKind): boolean {
    return this.#types.has(kind);
  }

  /** Adds a notification about one type, or about any. */
  add(kind: NotificationKind, type?: string): this {
    const types = this.#types.get(kind);
    if (type === undefined) this.#types.set(kind, null);
    else if (types === undefined) this.#types.set(kind, new Set([type]));
    else if (types !== null && types.add(type).size > typesMax) this.#types.set(kind, null);
    return this;
  }

  /** Adds notifications as they were sent or received. */
  addAll(notifications: Iterable<Notification>): this {
    for (const { kind, types } of notifications) {
      if (types === undefined) this.add(kind);
      else for (const type of types) this.add(kind, type);
    }
    return this;
  }

  /** Removes the notification of a kind and returns it as a list; empty: there was none. */
  take(kind: NotificationKind): Notification[] {
    const types = this.#types.get(kind);
    this.#types.delete(kind);
    return types === undefined ? [] : [notificationOf(kind, types)];
  }

  /** Puts notifications of a kind, or none, in the place of the one that is here. */
  replace(kind: NotificationKind, notifications: Notification[]): void {
    this.#types.delete(kind);
    this.addAll(notifications);
  }

  /** Removes all notifications and returns them. */
  takeAll(): Notification[] {
    const all = [...this];
    this.#types.clear();
    return all;
  }

  *[Symbol.iterator](): Generator<Notification> {
    for (const [kind, types] of this.#types) yield notificationOf(kind, types);
  }
}

function notificationOf(kind: NotificationKind, types: Set<string> | null): Notification {
  return types === null ? { kind } : { kind, types: [...types] };
}
