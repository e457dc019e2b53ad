import { createPostgresGround } from './engines/postgres/ground.ts';
import { createSqliteGround } from './engines/sqlite/ground.ts';
import type { Ground, GroundOptions } from './ground.ts';

/** What a run can stand on, by the name of the engine. */
export const grounds: Readonly<Record<string, (options: GroundOptions) => Ground | Promise<Ground>>> = {
  sqlite: createSqliteGround,
  postgres: createPostgresGround,
};
