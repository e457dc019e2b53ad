import type { JobSpec } from '../contract/engine.ts';

/** Whether a job is plain: creating it touches no other job. It has no dedupe key, parent, gate or serial key. */
export function isPlain(spec: JobSpec): boolean {
  return spec.dedupe === null && spec.parent === null && spec.gates.length === 0 && spec.serial === null;
}
