import type { Duly } from 'duly';
import { z } from 'zod';

/** A train with so many berths on a day. */
export interface Train {
  id: string;
  departsAt: Date;
  berths: number;
  /** Who travels, in the order of booking. */
  confirmed: string[];
  /** Who hopes for a berth, in the order of booking. */
  waitlist: string[];
  /** The chart, once it is prepared: from then on nothing changes. */
  chart: { berth: number; passenger: string }[] | null;
}

/** How long before departure the chart is prepared. */
const chartLeadMs = 4 * 3_600_000;

/** The reservations of a railway: bookings, a waiting list that moves up, and a chart four hours before departure. */
export function defineRailway(
  duly: Duly,
  trains: Map<string, Train>,
  sendToStaff: (train: string, chart: Train['chart']) => Promise<void>,
) {
  // Events of one train are handled one at a time and in order: its id is their serial key.
  const moveUp = duly.task({
    name: 'move_up',
    input: z.object({ train: z.string() }),
    run: ({ input }) => {
      const train = trains.get(input.train);
      if (train === undefined || train.chart !== null) return 0;
      const free = train.berths - train.confirmed.length;
      const moved = train.waitlist.splice(0, free);
      train.confirmed.push(...moved);
      return moved.length;
    },
  });

  const prepareChart = duly.task({
    name: 'prepare_chart',
    input: z.object({ train: z.string() }),
    retry: { attempts: 10, backoff: 'exponential' },
    run: async ({ input, once }) => {
      const train = trains.get(input.train);
      if (train === undefined) throw new Error(`There is no train "${input.train}".`);
      // Running it twice changes nothing: the chart is made once, and whoever comes again finds it.
      train.chart ??= train.confirmed.map((passenger, i) => ({ berth: i + 1, passenger }));
      await once('staff', () => sendToStaff(train.id, train.chart));
      return { berths: train.chart.length };
    },
  });

  const of = (train: string) => ({ serial: `train:${train}` });
  return {
    /** Opens a train for booking, and promises its chart. A train that is moved moves its chart: the key is the train's. */
    async open(train: Train): Promise<void> {
      trains.set(train.id, train);
      const chartAt = new Date(train.departsAt.getTime() - chartLeadMs);
      await prepareChart.at(
        chartAt,
        { train: train.id },
        { ...of(train.id), dedupe: { key: train.id, mode: 'replace' } },
      );
    },
    /** Books a berth, or a place on the waiting list. */
    book(id: string, passenger: string): 'confirmed' | 'waiting' | 'closed' {
      const train = trains.get(id);
      if (train === undefined || train.chart !== null) return 'closed';
      if (train.confirmed.length < train.berths) {
        train.confirmed.push(passenger);
        return 'confirmed';
      }
      train.waitlist.push(passenger);
      return 'waiting';
    },
    /** Cancels a booking; the event moves the waiting list up in the background. */
    async cancel(id: string, passenger: string): Promise<boolean> {
      const train = trains.get(id);
      const place = train?.confirmed.indexOf(passenger) ?? -1;
      if (train === undefined || train.chart !== null || place === -1) return false;
      train.confirmed.splice(place, 1);
      await moveUp.now({ train: id }, of(id));
      return true;
    },
    prepareChart,
  };
}
