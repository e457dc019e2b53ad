import { type DulyOptions, openTelemetry } from '@duly/core';

// Under this symbol `@opentelemetry/api` keeps what an SDK registered, whichever copy of it was loaded.
const registered = Symbol.for('opentelemetry.js.api.1');

/** Follows jobs by OpenTelemetry if an SDK was started before us (`node --import ./tracing.mjs …`); else nothing, and at no cost. */
export async function tracingOf(): Promise<Pick<DulyOptions, 'tracing'>> {
  const api = (globalThis as Record<symbol, { trace?: unknown } | undefined>)[registered];
  if (api?.trace === undefined) return {};
  try {
    return { tracing: openTelemetry(await import('@opentelemetry/api')) };
  } catch {
    // The SDK is there and the API cannot be found from here: jobs run all the same.
    return {};
  }
}
