/** One event of a stream, ready to be sent. */
export interface LiveEvent {
  /** What it is; null: the plain kind, which `EventSource.onmessage` hears. */
  event: string | null;
  /** The place to go on from after it. */
  id: string;
  /** JSON; null: nothing happened, only the place has moved. */
  data: string | null;
}

/** Events for one watcher. They are taken one at a time; what is not taken costs a bounded amount of memory. */
export interface LiveStream {
  /** The next one; null: there will be no more. */
  next(): Promise<LiveEvent | null>;
  /** The next one if it is there already, so that a burst goes out in few pieces; null: ask `next`. */
  more(): LiveEvent | null;
  /** The place reached so far, for a watcher that is told of nothing for long; null: the same as the last event's. */
  place(): string | null;
  close(): void;
}
