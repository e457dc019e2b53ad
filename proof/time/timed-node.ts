// A node whose wall clock is not the machine's. Tells its parent what its handlers do, at which instant of the store and of its own.
import { Duly, type ScheduleDefinition, systemClock } from '../../packages/core/src/index.ts';

/** What it is started with. */
export interface TimedNodeOptions {
  store: string;
  leaseMs: number;
  schedules: ScheduleDefinition[];
}

/** What it tells. */
export type TimedNews =
  | { kind: 'ready'; warnings: string[]; wallAt: number }
  | {
      kind: 'began' | 'ended';
      id: string;
      type: string;
      attempt: number;
      fence: number;
      slotAt: number | null;
      isCatchUp: boolean;
      lateness: number;
    }
  | { kind: 'lost'; id: string };

const options = JSON.parse(process.argv[2] as string) as TimedNodeOptions;
const report = (news: TimedNews) => process.send?.(news);
const duly = new Duly({ store: options.store, app: 'time', lease: options.leaseMs, logger: false });
/** Resolves when the parent says so. */
const reported = new Promise<void>((resolve) => process.once('message', () => resolve()));

for (const [name, isLong] of [
  ['work', false],
  ['long', true],
] as const) {
  duly.task({
    name,
    run: async ({ job, attempt, fence, slot, isCatchUp, lateness }) => {
      const news = {
        id: job.id,
        type: name,
        attempt,
        fence,
        slotAt: slot?.at.getTime() ?? null,
        isCatchUp,
        lateness,
      };
      report({ kind: 'began', ...news });
      if (isLong) await reported;
      report({ kind: 'ended', ...news });
    },
  });
}
duly.on('job.lost', ({ id }) => report({ kind: 'lost', id }));
for (const schedule of options.schedules) await duly.schedules.put(schedule);
const { warnings } = await duly.open();
await duly.start({ signals: true });
report({ kind: 'ready', warnings, wallAt: systemClock.now() });
