// When something falls due next, for programs that come and go.

import type { Engine } from '../contract/engine.ts';

/** Who asks, and for which work. */
export interface NextDueOptions {
  node: string;
  token: string;
  tasks: readonly { name: string; version: number }[];
  queues: readonly string[] | null;
}

/** When something falls due next: a job of these tasks, in these queues, and a schedule; null: none does. */
export async function readNextDue(
  engine: Engine,
  { node, token, tasks: asked, queues }: NextDueOptions,
): Promise<{ now: Date; job: Date | null; schedule: Date | null }> {
  const tasks = asked.map(({ name, version }) => ({
    type: name,
    version,
    limit: 1,
  }));
  const schedules = { node, token, limit: 0, leaseMs: 1_000, ids: null };
  const claim = {
    token,
    node,
    tasks,
    queues: queues === null ? null : [...queues],
    limit: 0,
    leaseMs: 1_000,
    idle: true,
  };
  // Schedules first: what they make until the second question is in its answer.
  const { nextDueAt: scheduleAt } = await engine.claimSchedules(schedules);
  const { now, more, nextDueAt } = await engine.exchange({
    settle: [],
    claim: tasks.length === 0 ? null : claim,
  });
  // What is ready has fallen due, and no longer waits for its time.
  const jobAt = more ? now : nextDueAt;
  const dateOf = (at: number | null): Date | null => (at === null ? null : new Date(at));
  return { now: new Date(now), job: dateOf(jobAt), schedule: dateOf(scheduleAt) };
}
