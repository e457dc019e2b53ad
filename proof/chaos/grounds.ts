import { makePostgresGround } from './engines/postgres/ground.ts';
import { makeSqliteGround } from './engines/sqlite/ground.ts';
import type { Ground, GroundOptions } from './ground.ts';

/** What a run can stand on, by the name of the engine. */
export const grounds: Readonly<Record<string, (options: GroundOptions) => Ground | Promise<Ground>>> = {
  sqlite: makeSqliteGround,
  postgres: makePostgresGround,
};
