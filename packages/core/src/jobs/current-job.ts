import { AsyncLocalStorage } from 'node:async_hooks';

/** The job whose handler is running here. */
export interface CurrentJob {
  readonly id: string;
  readonly type: string;
  readonly tenant: string | null;
}

const storage = new AsyncLocalStorage<CurrentJob>();

/** Runs `fn` as (a part of) this job's handler: jobs created inside it, at any depth of awaits, are its children. */
export function runInJob<Value>(job: CurrentJob, fn: () => Value): Value {
  return storage.run(job, fn);
}

/** The job whose handler this code was called from; null outside of handlers. */
export function currentJob(): CurrentJob | null {
  return storage.getStore() ?? null;
}
