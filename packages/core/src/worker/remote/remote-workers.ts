import type { Clock } from '../../base/clock.ts';
import type { Ids } from '../../base/ids.ts';
import { readName } from '../../base/option-reader.ts';
import type { Random } from '../../base/random.ts';
import type { Engine, Settlement } from '../../contract/engine.ts';
import { logLinesMax } from '../reporter.ts';
import { claimRemotely } from './remote-claim.ts';
import { createRemoteLeases, type RemoteLeases, readHeld, readReport } from './remote-leases.ts';
import { nodeOf } from './remote-node.ts';
import type {
  RemoteClaim,
  RemoteClaimed,
  RemoteHeartbeat,
  RemoteLease,
  RemoteReport,
  RemoteSettled,
  RemoteSettlement,
} from './remote-protocol.ts';
import { createRemoteRoster, type RemoteRoster } from './remote-roster.ts';

/** The lease protocol for workers that are not this library: what a node does, one step at a time. */
export interface RemoteWorkers {
  /** Takes work, and waits for it if told to. Whoever claims is listed among the nodes until it is silent for 40 s. */
  claim(claim: RemoteClaim): Promise<RemoteClaimed>;
  /** Renews leases; to be called every `heartbeatMs`. */
  heartbeat(
    leases: readonly RemoteLease[],
    options?: { worker?: string; running?: number },
  ): Promise<RemoteHeartbeat[]>;
  /** Shows progress and log lines. */
  report(reports: readonly RemoteReport[]): Promise<('kept' | 'lost')[]>;
  /** Hands outcomes in. A repeat of one that was recorded answers `done` again. */
  settle(settlements: readonly RemoteSettlement[]): Promise<RemoteSettled[]>;
  /** Takes a worker off the list, at its end. */
  leave(worker: string): Promise<void>;
  /**
   * The same calls for one client, named by the server and never by the client: they act only on leases that
   * this owner claimed. Every other lease is `lost`.
   */
  ownedBy(owner: string): RemoteWorkers;
}

/** What they are made of. */
export interface RemoteDeps {
  engine(): Promise<Engine>;
  clock: Clock;
  random: Random;
  ids: Ids;
  leaseMs: number;
  heartbeatMs: number;
  /** How long to sleep at most when only a notification could tell more. */
  maxSleepMs(): number;
  /** Aborted when no more calls are taken. */
  closed: AbortSignal;
}

/** What the calls of every owner share. */
export interface RemoteParts {
  deps: RemoteDeps;
  roster: RemoteRoster;
  leases: RemoteLeases;
}

/** Makes them. */
export function createRemoteWorkers(deps: RemoteDeps): RemoteWorkers {
  const roster = createRemoteRoster(deps);
  return callsOf({ deps, roster, leases: createRemoteLeases(deps, roster) }, null);
}

function callsOf(parts: RemoteParts, owner: string | null): RemoteWorkers {
  const { deps, roster, leases: attempts } = parts;
  return {
    claim: (given) => claimRemotely(parts, owner, given),

    async heartbeat(leases, { worker, running } = {}) {
      const engine = await deps.engine();
      const node = worker === undefined ? 'remote' : nodeOf(worker, owner);
      const about = roster.known(node);
      if (about !== undefined)
        await roster.heartbeat(engine, { ...about, running: running ?? leases.length });
      if (leases.length === 0) return [];
      const read = await readHeld(roster, engine, owner, leases);
      const isHeld = (_: unknown, i: number): boolean => read.held[i] !== null;
      const late = await attempts.lateOnes(engine, leases, read);
      const reply = await engine.heartbeat({
        node,
        leaseMs: deps.leaseMs,
        // Beginnings are written before a job is given out; a long run has surely begun.
        leases: leases.filter(isHeld).map(({ id, fence }) => ({ id, fence, begun: true })),
      });
      roster.received(reply);
      const heartbeats = reply.leases.values();
      return leases.map((lease, i): RemoteHeartbeat => {
        const state = isHeld(lease, i) ? (heartbeats.next().value?.state ?? 'lost') : 'lost';
        if (state === 'lost' || late.get(i) === 'over') return 'lost';
        return state === 'cancel' ? 'cancel' : ((late.get(i) as 'timeout' | undefined) ?? 'kept');
      });
    },

    async report(given) {
      const engine = await deps.engine();
      const bodies = await Promise.all(given.map((one) => readReport(roster, engine, one)));
      const reports = given.map(({ id, fence }, i) => ({
        id,
        fence,
        ...(bodies[i] ?? { progress: null, logs: [] }),
      }));
      const { held } = await readHeld(roster, engine, owner, given);
      const isHeld = (_: unknown, i: number): boolean => held[i] !== null;
      const reply = await engine.report({ reports: reports.filter(isHeld), logLimit: logLinesMax });
      roster.received(reply);
      const results = reply.reports.values();
      return given.map((one, i) => (isHeld(one, i) ? (results.next().value ?? 'lost') : 'lost'));
    },

    async settle(given) {
      const engine = await deps.engine();
      const { held } = await readHeld(roster, engine, owner, given);
      const settlements = await Promise.all(
        given.map(async (one, i): Promise<Settlement | null> => {
          const record = held[i] ?? null;
          if (record === null) return null;
          const report = await readReport(roster, engine, one);
          return attempts.settlementFor(record, one, report);
        }),
      );
      const settled = await attempts.settleAll(
        engine,
        settlements.filter((settlement) => settlement !== null),
      );
      const answers = settled.values();
      return given.map(({ id }, i) => {
        const settlement = settlements[i] ?? null;
        const result = settlement === null ? 'lost' : (answers.next().value ?? 'lost');
        return { id, result, status: result === 'done' && settlement !== null ? settlement.to : null };
      });
    },

    async leave(worker) {
      const engine = await deps.engine();
      const node = nodeOf(worker, owner);
      await roster.leave(engine, node);
    },

    ownedBy: (name) => callsOf(parts, readName(name, 'owner')),
  };
}
