import type { Engine } from '../../../src/engine.ts';
import { engineConformance } from '../../../src/testing/conformance/index.ts';
import { openEngine, openSecondEngine } from './setup.ts';

engineConformance('postgres', {
  open: openEngine,
  openSecond: (first: Engine) => openSecondEngine(first),
  // Each test has a schema of its own, and most of its time is the making of it.
  concurrency: 4,
});
