/** The runs of a forecast, in columns: there may be millions, and an object for each would not fit. */
export class ForecastRuns {
  #dueAt = new Float64Array(1_024);
  #durationMs = new Float64Array(1_024);
  #schedule = new Int32Array(1_024);
  #count = 0;

  /** How many there are. */
  get count(): number {
    return this.#count;
  }

  /** Adds a run and gives its number. */
  add(dueAt: number, durationMs: number, schedule: number): number {
    if (this.#count === this.#dueAt.length) this.#grow();
    const run = this.#count++;
    this.#dueAt[run] = dueAt;
    this.#durationMs[run] = durationMs;
    this.#schedule[run] = schedule;
    return run;
  }

  /** When a run falls due. */
  dueAt(run: number): number {
    return this.#dueAt[run] as number;
  }

  /** How long a run is taken to last. */
  durationMs(run: number): number {
    return this.#durationMs[run] as number;
  }

  /** The number of its schedule. */
  schedule(run: number): number {
    return this.#schedule[run] as number;
  }

  /** Ends a run at an instant: somebody cancels it. */
  endAt(run: number, at: number): void {
    this.#durationMs[run] = Math.max(0, at - this.dueAt(run));
  }

  #grow(): void {
    const size = this.#dueAt.length * 2;
    const [dueAt, durationMs, schedule] = [
      new Float64Array(size),
      new Float64Array(size),
      new Int32Array(size),
    ];
    dueAt.set(this.#dueAt);
    durationMs.set(this.#durationMs);
    schedule.set(this.#schedule);
    [this.#dueAt, this.#durationMs, this.#schedule] = [dueAt, durationMs, schedule];
  }
}
