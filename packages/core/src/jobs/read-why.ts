// Reads the facts behind an answer to "why" about a job.

import type { CountsReply, JobRecord } from '../contract/engine.ts';
import { nodeSilentMs } from '../contract/timings.ts';
import type { StoreSession } from '../store/session.ts';
import { countCap } from './count-cap.ts';
import type { Blocker, WhyFacts } from './job-why-facts.ts';
import { createPauses } from './pauses.ts';

/** Reads what keeps a job where it is, as far as its status makes that a question. */
export async function readWhyFacts(
  session: StoreSession,
  { job, now }: { job: JobRecord; now: number },
  actor: string,
): Promise<WhyFacts> {
  const waits = job.status === 'PENDING' || job.status === 'RETRYING' || job.status === 'SCHEDULED';
  const [pauses, nodes, blockers, counts] = await Promise.all([
    waits || job.status === 'BLOCKED' ? createPauses(session.engine, actor).list() : [],
    waits
      ? session.engine
          .nodes({ heartbeat: null, leave: null, drain: null, forgetAfterMs: nodeSilentMs })
          .then((reply) => reply.nodes)
      : [],
    job.status === 'BLOCKED' ? blockersOf(session, job) : [],
    waits ? session.engine.counts({ cap: countCap }) : null,
  ]);
  const ready = counts === null || job.status !== 'PENDING' ? null : readyCount(counts, job);
  const running = counts?.running ?? [];
  return { now, job, pauses, nodes, nodeSilentMs, blockers, ready, running };
}

/** What the shut gates of a job wait for. */
async function blockersOf(session: StoreSession, job: JobRecord): Promise<Blocker[]> {
  return Promise.all(
    job.gates.map(async (gate): Promise<Blocker> => {
      const found =
        gate.kind === 'serial' ? await serialHolder(session, job) : await gateJob(session, gate.ref);
      return { gate, job: found };
    }),
  );
}

async function gateJob(session: StoreSession, id: string): Promise<Blocker['job']> {
  return (await session.get.push(id)).job;
}

async function serialHolder(session: StoreSession, job: JobRecord): Promise<Blocker['job']> {
  if (job.serial === null) return null;
  const { jobs } = await session.engine.list({
    filter: { serial: job.serial, tenant: job.tenant, status: ['RUNNING', 'PENDING', 'RETRYING'] },
    cursor: null,
    limit: 10,
  });
  const others = jobs.filter((one) => one.id !== job.id);
  return others.find((one) => one.status === 'RUNNING') ?? others[0] ?? null;
}

/** How many jobs like this one are ready; null: not known. */
function readyCount({ lanes }: CountsReply, job: JobRecord) {
  const matching = lanes.filter((lane) => lane.queue === job.queue && lane.type === job.type);
  if (matching.length === 0) return null;
  return {
    count: matching.reduce((sum, lane) => sum + lane.ready.count, 0),
    capped: matching.some((lane) => lane.ready.capped),
  };
}
