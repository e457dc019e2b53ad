import { testWorlds } from './worlds.ts';

testWorlds(1_001, 1_000);
