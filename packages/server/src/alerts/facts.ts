import type { Clock, Duly } from '@duly/core';
import type { FactSource } from './alert-kind.ts';
import { type AlertRule, alertKindOf } from './alert-rule.ts';
import { createScheduleFacts } from './schedule-facts.ts';

/** What rules are evaluated against, read at one instant of the store. */
export interface AlertFacts {
  now: number;
  /** What each kind of an enabled rule collected. */
  byKind: ReadonlyMap<string, unknown>;
}

/** Reads what rules need, and remembers what is expensive to read and seldom changes. */
export interface FactReader {
  /** Reads what these rules need, and nothing else. */
  read(rules: readonly AlertRule[]): Promise<AlertFacts>;
}

/** Creates the reader of a store. */
export function createFactReader(duly: Duly, clock: Pick<Clock, 'elapsed'>): FactReader {
  const scheduleFacts = createScheduleFacts(duly, clock);

  async function openSource(): Promise<FactSource> {
    const [counts, nodes, pauses] = await Promise.all([duly.counts(), duly.nodes(), duly.pauses()]);
    const now = counts.now.getTime();
    let schedules: ReturnType<FactSource['schedules']> | null = null;
    return {
      ...{ duly, now, counts, nodes, pauses },
      schedules: () => (schedules ??= scheduleFacts.read(now)),
    };
  }

  return {
    async read(rules) {
      const source = await openSource();
      const conditions = rules.filter(({ isEnabled }) => isEnabled).map(({ condition }) => condition);
      const byKind = new Map<string, unknown>();
      for (const [name, ofKind] of Map.groupBy(conditions, ({ kind }) => kind))
        byKind.set(
          name,
          await alertKindOf(name)?.collect(
            source,
            ofKind.map(({ kind: _, ...values }) => values),
          ),
        );
      return { now: source.now, byKind };
    },
  };
}
