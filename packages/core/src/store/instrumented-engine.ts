import type { Clock } from '../base/clock.ts';
import { dulyError, isDulyError } from '../base/errors.ts';
import type { Engine, EngineVerb, Reply, Stamp, UserTransaction, VerbCall } from '../contract/engine.ts';
import { engineVerbNames, mapVerbs } from '../contract/verbs.ts';
import { unsupportedTx } from '../engines/shared/transaction-errors.ts';

/** One call of a verb, after it was answered. */
export interface EngineCall {
  verb: EngineVerb;
  /** How long the answer took. */
  tookMs: number;
  ok: boolean;
  /** The code of the error it failed with; null when it did not. */
  code: string | null;
}

/** Options of {@link createInstrumentedEngine}. */
export interface InstrumentedEngineOptions {
  engine: Engine;
  clock: Clock;
  /** The clock rules the store too: every call carries its `now`. For virtual time only. */
  rules: boolean;
  onCall(call: EngineCall): void;
}

/** The engine as the rest of Duly sees it, with a count of what went through. */
export interface InstrumentedEngine {
  readonly engine: Engine;
  /** Counts and tells of a call that was made beside it, by the store for a worker that sleeps. */
  record(verb: EngineVerb, tookMs: number, error: unknown): void;
  /** Calls of each verb so far. */
  counts(): Record<EngineVerb, number>;
}

type Call = (input: Stamp) => Promise<Reply>;

/**
 * Creates the one wrapper between Duly and an engine. It times, counts and announces each call, sets `now` on virtual time and
 * gives a failure of the store that has no code one. Engines stay plain.
 */
export function createInstrumentedEngine({
  engine,
  clock,
  rules,
  onCall,
}: InstrumentedEngineOptions): InstrumentedEngine {
  const counts = Object.fromEntries(engineVerbNames.map((verb) => [verb, 0])) as Record<EngineVerb, number>;

  function through(verb: EngineVerb): VerbCall {
    const call = (engine[verb] as unknown as Call).bind(engine);
    return async (input: Stamp) => {
      const startedAt = clock.elapsed();
      counts[verb]++;
      try {
        const reply = await call(rules && input.now === undefined ? { ...input, now: clock.now() } : input);
        onCall({ verb, tookMs: clock.elapsed() - startedAt, ok: true, code: null });
        return reply;
      } catch (cause) {
        const error = isDulyError(cause) ? cause : wrap(verb, engine, cause);
        onCall({ verb, tookMs: clock.elapsed() - startedAt, ok: false, code: error.code });
        throw error;
      }
    };
  }

  /** On virtual time calls inside a user's transaction carry the instant too. */
  function stamped(userTransaction: UserTransaction): UserTransaction {
    if (!rules) return userTransaction;
    const calls = Object.entries(userTransaction).map(([name, call]) => [
      name,
      (input: Stamp) => (call as unknown as Call)({ now: clock.now(), ...input }),
    ]);
    return Object.fromEntries(calls) as UserTransaction;
  }

  return {
    engine: {
      ...mapVerbs(through),
      info: () => engine.info(),
      subscribe: (listener) => engine.subscribe(listener),
      probe: () => engine.probe(),
      userTransaction: async (tx) => {
        if (engine.userTransaction === undefined) throw unsupportedTx(engine.info().place);
        return stamped(await engine.userTransaction(tx));
      },
      watchTransaction: (watched) => engine.watchTransaction?.(watched),
      close: () => engine.close(),
    },
    record(verb, tookMs, error) {
      counts[verb]++;
      const code = error === null ? null : isDulyError(error) ? error.code : 'store_unavailable';
      onCall({ verb, tookMs, ok: error === null, code });
    },
    counts: () => ({ ...counts }),
  };
}

function wrap(verb: EngineVerb, engine: Engine, cause: unknown) {
  const reason = cause instanceof Error ? cause.message : String(cause);
  return dulyError('store_unavailable', {
    message: `The ${engine.info().kind} store failed while it did "${verb}": ${reason}`,
    hint: 'The cause shows what the store said. Check that it can be reached and written.',
    details: { verb },
    cause,
  });
}
