// The first hundred are played by simulation.test.ts, which has more to ask of them. Two files, so that two cores share the work.
import { testWorlds } from './worlds.ts';

testWorlds(101, 900);
