import { after } from 'node:test';
import { engineConformance } from '../../../src/testing/conformance/index.ts';
import { createFreshStores } from './fresh-store.ts';

const stores = createFreshStores();
after(() => stores.close());

engineConformance('postgres', { ...stores, concurrency: 4 });
