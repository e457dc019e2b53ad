import { testWorlds } from './worlds.ts';

testWorlds('prove', { skip: 1_000, count: 1_000 });
