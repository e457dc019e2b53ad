// Two files, so that two cores share the seeds.
import { testWorlds } from './worlds.ts';

testWorlds('prove', { count: 1_000 });
