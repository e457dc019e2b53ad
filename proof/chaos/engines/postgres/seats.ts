/** Where the processes of a run on PostgreSQL sit: each behind a way of its own, in a network of its own, with a wall clock of its own. */
import { startTcpProxy, type TcpProxy, throughPort } from '../../../../test/servers/tcp-proxy.ts';
import { startWire, type Wire } from '../../../../test/servers/wire.ts';
import { createFakedTime, type FakedTime, fakeTimeLibrary } from '../../../time/faked-time.ts';
import type { Seat } from '../../ground.ts';

/** A seat whose way, network and clock can be harmed. */
export interface PostgresSeat extends Seat {
  way: TcpProxy;
  /** null: network namespaces are not to be had here, and the way has to do. */
  wire: Wire | null;
  /** null: libfaketime is not to be had here. */
  time: FakedTime | null;
}

/** All seats of a run. */
export interface Seats {
  take(): Promise<PostgresSeat>;
  stop(): Promise<void>;
}

const hourMs = 3_600_000;

/** Makes seats as they are needed; one that was left is taken again. */
export function createSeats(options: { folder: string; url: string; port: number; query: string }): Seats {
  const { folder, url, port, query } = options;
  const all: PostgresSeat[] = [];
  const free: PostgresSeat[] = [];

  async function create(): Promise<PostgresSeat> {
    const number = all.length;
    const wire = startWire();
    const way = await startTcpProxy(port, wire?.hostAddress);
    // Ahead, behind and right, in turn.
    const offsetMs = [hourMs, -hourMs, 0][number % 3] as number;
    const time = fakeTimeLibrary() === null ? null : createFakedTime(folder, `seat-${number}`, offsetMs);
    const seat: PostgresSeat = {
      store: `${throughPort(url, way.port, wire?.hostAddress)}?${query}`,
      command: wire?.command ?? [],
      env: time === null ? {} : clockEnv(time),
      way,
      wire,
      time,
      release() {
        wire?.mend();
        way.slow(null);
        free.push(seat);
      },
    };
    all.push(seat);
    return seat;
  }

  return {
    take: async () => free.shift() ?? (await create()),
    async stop() {
      for (const { way, wire } of all) {
        await way.stop();
        wire?.stop();
      }
    },
  };
}

/** A step need not be seen at once, and a file read at every look at the clock would cost more than the jobs do. */
function clockEnv(time: FakedTime): Record<string, string> {
  const { FAKETIME_NO_CACHE: _, ...env } = time.env;
  return { ...env, FAKETIME_CACHE_DURATION: '1' };
}
