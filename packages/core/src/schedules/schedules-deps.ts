import type { Clock } from '../base/clock.ts';
import type { Ids } from '../base/ids.ts';
import type { Random } from '../base/random.ts';
import type { Actor, Engine } from '../contract/engine.ts';
import type { JobHandle } from '../jobs/job-handle.ts';
import type { ResolvedTask } from '../jobs/task-definition.ts';
import type { ScheduleDefinition } from './definition/definition.ts';

/** What the schedules of one Duly stand on. */
export interface SchedulesDeps {
  engine(): Promise<Engine>;
  clock: Clock;
  /** Who asks, at the moment of the call. */
  actor(): Actor;
  app: string;
  release: string | null;
  node: string;
  ids: Ids;
  random: Random;
  inputBytesMax: number;
  tasks: ReadonlyMap<string, ResolvedTask>;
  /** What the tasks of this process declare. */
  declared(): ScheduleDefinition[];
  handle(id: string): JobHandle;
  /** Told of what failed without stopping a call. */
  onError(error: unknown, doing: string): void;
}
