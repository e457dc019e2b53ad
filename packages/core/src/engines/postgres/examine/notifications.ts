import { found, ok, type SettingCheck } from '../../shared/setting-check.ts';
import { createConnector } from '../connect.ts';
import { openPostgres, type PostgresOptions } from '../open-postgres.ts';

// A probe takes a millisecond; its connection takes about ten.
const probeTimeoutMs = 3_000;

/** How the store is opened. */
type StoreOptions = Omit<PostgresOptions, 'migrate' | 'callMs'>;

/** Checks whether notifications arrive. LISTEN succeeds behind a pooler too; only a probe proves it. */
export async function notificationFinding(options: StoreOptions): Promise<SettingCheck> {
  const opened = await openPostgres({ ...options, migrate: 'never' });
  const isReceived = await new Promise<boolean>((resolve) => {
    const timer = options.clock.after(probeTimeoutMs, () => resolve(false));
    opened.subscribe(({ kind }) => {
      if (kind !== 'probe') return;
      timer.cancel();
      resolve(true);
    });
  });
  await opened.close();
  if (isReceived)
    return ok('listen', 'Notifications arrive: what another process creates is started at once.');
  const late = 'what another process creates starts up to 1 s late.';
  const refusal = await listenRefusal(options);
  if (refusal !== null) {
    const hint =
      options.listenUrl === null
        ? 'See that the server has a connection left.'
        : 'Check "listenUrl" of the address.';
    return found(
      'warning',
      'listen',
      `The connection for notifications cannot be created (${refusal}): ${late}`,
      hint,
    );
  }
  return options.listenUrl === null
    ? found(
        'warning',
        'listen',
        `Notifications do not arrive (LISTEN succeeds behind a pooler in transaction mode, and delivers nothing): ${late}`,
        'Name a direct connection: add ?listenUrl=postgres%3A%2F%2F… to the address.',
      )
    : found(
        'warning',
        'listen',
        `Notifications do not arrive over "listenUrl", which leads to another database, or to a pooler in transaction mode: ${late}`,
        'Let "listenUrl" lead to the server itself, and to the same database.',
      );
}

/** Why the connection that listens cannot be created; null: it can. */
async function listenRefusal(options: StoreOptions): Promise<string | null> {
  const connector = await createConnector(options);
  const client = connector.createListener();
  // `connect` reports the error too. An error without a listener would end the process.
  client?.on('error', () => {});
  try {
    await client?.connect();
    return null;
  } catch (error) {
    return (error as Error).message || String((error as { code?: unknown }).code);
  } finally {
    client?.end().catch(() => {});
    await connector.end();
  }
}
