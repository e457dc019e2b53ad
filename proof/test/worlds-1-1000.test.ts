// Two files, so that two cores share the work.
import { testWorlds } from './worlds.ts';

testWorlds(1, 1_000);
