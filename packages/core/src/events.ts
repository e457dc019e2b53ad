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
  const listeners = new Map<keyof EventMap, Set<EventListener<never>>>();

  function on<Name extends keyof EventMap>(name: Name, listener: EventListener<EventMap[Name]>): () => void {
    let set = listeners.get(name);
    if (set === undefined) {
      set = new Set();
      listeners.set(name, set);
    }
    set.add(listener as EventListener<never>);
    return () => {
      set.delete(listener as EventListener<never>);
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
      const set = listeners.get(name);
      if (set === undefined || set.size === 0) return;
      // A copy: a listener may leave while it is told.
      for (const listener of [...set]) {
        try {
          const answer: unknown = (listener as EventListener<typeof value>)(value);
          if (answer instanceof Promise) answer.catch((error) => onListenerError(error, name));
        } catch (error) {
          onListenerError(error, name);
        }
      }
    },
    has(name) {
      return (listeners.get(name)?.size ?? 0) > 0;
    },
  };
}
