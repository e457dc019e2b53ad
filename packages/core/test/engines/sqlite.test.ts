import { engineConformance } from '@duly/conformance';
import { openStore } from '../../src/store/thread/open-store.ts';

engineConformance('sqlite::memory:', {
  open: async () => (await openStore('sqlite::memory:')).engine,
});
