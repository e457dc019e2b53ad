// The plain branches only save time: with them switched off, every job is created and claimed by the full branches, to the same effect.

import { after } from 'node:test';
import { engineConformance } from '@duly/conformance';
import { createFreshStores } from './fresh-store.ts';

const stores = createFreshStores({ allowsPlain: false });
after(() => stores.close());

engineConformance('postgres without plain branches', { ...stores, concurrency: 4 });
