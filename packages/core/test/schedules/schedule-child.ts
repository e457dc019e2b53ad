// One node of several real processes that declare the same schedule. Tells its parent over IPC which slots it ran.
// With `dies` it takes itself down between the claim of a due schedule and its fire.
import { Duly, systemClock } from '../../src/index.ts';

const [store, dies] = process.argv.slice(2) as [string, string | undefined];

/** What a child tells. */
export type ScheduleNews =
  | { kind: 'ready'; pid: number }
  | { kind: 'ran'; slotAt: number; isCatchUp: boolean; latenessMs: number; jobId: string; pid: number };

const report = (news: ScheduleNews) => process.send?.(news);
const duly = new Duly({ store, app: 'cluster' });

duly.task({
  name: 'tick',
  every: { rate: '1s', anchor: 'epoch', overlap: 'allow' },
  run: ({ slot, isCatchUp, lateness, job }) => {
    report({
      kind: 'ran',
      slotAt: slot?.at.getTime() ?? 0,
      isCatchUp,
      latenessMs: lateness,
      jobId: job.id,
      pid: process.pid,
    });
  },
});

await duly.start({ signals: true });
report({ kind: 'ready', pid: process.pid });
if (dies === 'dies') {
  let wasDue = false;
  // A claim is answered, and nothing of it has been decided yet. Right after the instant of a slot it has found one; the parent
  // looks into the store to be sure.
  duly.on('call', ({ verb }) => {
    if (verb !== 'claimSchedules') return;
    const sinceSlotMs = systemClock.now() % 1_000;
    if (wasDue && sinceSlotMs < 500) process.kill(process.pid, 'SIGKILL');
    wasDue = true;
  });
}
