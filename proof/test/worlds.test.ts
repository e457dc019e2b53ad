import { testWorlds } from './worlds.ts';

testWorlds('test', { count: 100 });
