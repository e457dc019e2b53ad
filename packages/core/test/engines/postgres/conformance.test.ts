import { after } from 'node:test';
import { engineConformance } from '@duly/conformance';
import { createFreshStores } from './fresh-store.ts';

const stores = createFreshStores();
after(() => stores.close());

engineConformance('postgres', { ...stores, concurrency: 4 });
