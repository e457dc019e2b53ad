import { openStore } from '../../src/store/thread/open-store.ts';
import { engineConformance } from '../../src/testing/conformance/index.ts';

engineConformance('sqlite::memory:', {
  open: async () => (await openStore('sqlite::memory:')).engine,
});
