import type { Engine, EngineVerb, Hint, MigrateInput, MigrateReply } from '../../engine.ts';
import { schemaVersion } from './migrate.ts';
import type { OpenedPostgres } from './opened.ts';

/** The verbs that speak to the store's tables: everything but `migrate`. */
export type TableVerb = Exclude<EngineVerb, 'migrate'>;

/** What a verb of this engine answers: the reply, and what others may want to look for now that it is committed. */
export interface Told<Result> {
  reply: Result;
  hints: Iterable<Hint>;
}

/** The verbs over an open database. Each is one transaction, or one statement that is one. */
export type PostgresVerbs = {
  [Verb in TableVerb]: (
    input: Parameters<Engine[Verb]>[0],
  ) => Promise<Told<Awaited<ReturnType<Engine[Verb]>>>>;
};

/** Makes an engine of an open PostgreSQL and the verbs over it: whatever they have committed is told to others afterwards. */
export function createPostgresEngine(opened: OpenedPostgres, verbs: PostgresVerbs): Engine {
  const engine: Record<string, unknown> = {
    info: () => opened.info,
    async migrate({ now, dryRun }: MigrateInput): Promise<MigrateReply> {
      const { from, steps } = await opened.migrate({ dryRun });
      return { from, to: schemaVersion, steps, now: now ?? (await opened.readNow()) };
    },
    wakeups: opened.wakeups,
    ring: opened.ring,
    close: opened.close,
  };
  for (const [name, verb] of Object.entries(verbs)) {
    engine[name] = async (input: never) => {
      const { reply, hints } = await (verb as (input: never) => Promise<Told<object>>)(input);
      opened.tell(hints);
      return reply;
    };
  }
  return engine as unknown as Engine;
}
