import type { Duly } from 'duly';
import { z } from 'zod';

/** Asks a service whether it is well; throws if it is not. */
export type Probe = (service: string, signal: AbortSignal) => Promise<void>;

/** Tells a person. The key is the same for every try of one change, so that a pager that has seen it can drop it. */
export type Alert = (service: string, isUp: boolean, key: string) => Promise<void>;

/** What is known of a service. */
interface Known {
  isUp: boolean;
  /** Failed checks in a row; not counted beyond what makes it down. */
  failures: number;
  /** How often it went down or came back. */
  changes: number;
}

const knownKind = 'service-health';
/** One lost packet wakes nobody. */
const failuresUntilDown = 2;

/** Services that are checked every minute: one alert when one goes down, one when it is back, and none between. */
export function defineHealthChecks(duly: Duly, probe: Probe, alert: Alert) {
  const report = duly.task({
    name: 'health_alert',
    input: z.object({ service: z.string(), isUp: z.boolean(), key: z.string() }),
    retry: { attempts: 10, backoff: 'exponential' },
    run: ({ input: { service, isUp, key } }) => alert(service, isUp, key),
  });

  const check = duly.task({
    name: 'health_check',
    input: z.object({ service: z.string() }),
    // The next minute brings the next check.
    retry: 1,
    timeout: '30s',
    retention: '1 day',
    run: async ({ input: { service }, signal }) => {
      const record = await duly.records.get<Known>(knownKind, service);
      const known = record?.value ?? { isUp: true, failures: 0, changes: 0 };
      const failure = await probe(service, signal).then(
        () => null,
        (error: Error) => error.message,
      );
      const failures = failure === null ? 0 : Math.min(known.failures + 1, failuresUntilDown);
      const isUp = failure === null || (known.isUp && failures < failuresUntilDown);
      const changes = known.changes + (isUp === known.isUp ? 0 : 1);
      if (changes !== known.changes) {
        // First the promise to tell, then what is known: a crash between them makes the same promise again, and its key makes the two one.
        const key = `${service}/${changes}`;
        await report.now({ service, isUp, key }, { dedupe: { key, for: '7 days' } });
      }
      // A service that is as it was costs no write.
      if (failures !== known.failures || changes !== known.changes) {
        const now: Known = { isUp, failures, changes };
        await duly.records.put(knownKind, service, now, { expectVersion: record?.version ?? null });
      }
      return { isUp, failure };
    },
  });

  const nameOf = (service: string): string => `health-${service}`;
  return {
    /** Checks a service from now on. The same call in every process is one schedule. */
    watch: (service: string) =>
      check.every(
        { rate: '1m' },
        { service },
        // A check that was missed tells nothing any more; and a hundred services are not all asked in the same second.
        { name: nameOf(service), missed: 'skip', startDeadline: '30s', jitter: '20s' },
      ),
    unwatch: (service: string) => duly.schedules.delete({ name: nameOf(service) }),
    /** Whether it is up, as far as is known. */
    async isUp(service: string): Promise<boolean> {
      return (await duly.records.get<Known>(knownKind, service))?.value.isUp ?? true;
    },
  };
}
