/** A listener of one kind of event. One that is async is not waited for. */
export type EventListener<Value> = (value: Value) => void;

/** A small typed emitter: `EventMap` maps names to what is told. */
export interface Events<EventMap> {
  /** Listens until the returned function is called. */
  on<Name extends keyof EventMap>(name: Name, listener: EventListener<EventMap[Name]>): () => void;
  /** Resolves with the next event of this name that fits. */
  next<Name extends keyof EventMap>(
    name: Name,
    fits?: (value: EventMap[Name]) => boolean,
  ): Promise<EventMap[Name]>;
  /** Tells all listeners, in the order they came, before it returns. */
  emit<Name extends keyof EventMap>(name: Name, value: EventMap[Name]): void;
  /** Whether anybody listens, so that an event nobody hears need not be put together. */
  has(name: keyof EventMap): boolean;
}

/**
 * Makes an emitter. A listener that throws, or whose promise is rejected, hinders neither the other listeners nor the one who
 * emits; `onListenerError` is told.
 */
export function createEvents<EventMap>(
  onListenerError: (error: unknown, name: keyof EventMap) => void = () => {},
): Events<EventMap> {
  // Lists are replaced and never changed: a listener may leave while it is told, and whoever tells need not copy.
  const listeners = new Map<keyof EventMap, readonly EventListener<never>[]>();

  function on<Name extends keyof EventMap>(name: Name, listener: EventListener<EventMap[Name]>): () => void {
    const added = listener as EventListener<never>;
    const before = listeners.get(name) ?? [];
    if (!before.includes(added)) listeners.set(name, [...before, added]);
    return () => {
      const left = (listeners.get(name) ?? []).filter((one) => one !== added);
      listeners.set(name, left);
    };
  }

  return {
    on,
    next(name, fits = () => true) {
      return new Promise((resolve) => {
        const off = on(name, (value) => {
          if (!fits(value)) return;
          off();
          resolve(value);
        });
      });
    },
    emit(name, value) {
      const registered = listeners.get(name);
      if (registered === undefined) return;
      for (const listener of registered) {
        try {
          const answer: unknown = (listener as EventListener<typeof value>)(value);
          if (answer instanceof Promise) answer.catch((error) => onListenerError(error, name));
        } catch (error) {
          onListenerError(error, name);
        }
      }
    },
    has(name) {
      return (listeners.get(name)?.length ?? 0) > 0;
    },
  };
}
