// Not part of the direct suite: a transaction-mode pooler gives every transaction another session, so whatever a statement
// leaves behind in its session would show here, and only here.

import { after } from 'node:test';
import { engineConformance } from '@duly/conformance';
import { startPgBouncer } from '../../../../../test/servers/pgbouncer.ts';
import { createFreshStores } from './fresh-store.ts';
import { url } from './setup.ts';

// Each connection of the pooler compiles the functions of each schema once more, and it is given another for every transaction: few of them
// show the same in half of the time. Five for each test that runs, so that nobody waits for one.
const concurrency = 2;
const bouncer = await startPgBouncer(url, 5 * concurrency);
// Notifications come by a direct connection: the suite asks for a probe, which no pooler in this mode can give.
const stores = createFreshStores({
  address: `${bouncer.url}?pool=4&listenUrl=${encodeURIComponent(url)}`,
});
after(async () => {
  await stores.close();
  await bouncer.stop();
});

engineConformance('postgres behind PgBouncer in transaction mode', { ...stores, concurrency });
