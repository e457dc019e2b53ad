/** The PostgreSQL engine, for those who want to open it themselves. */
export { openPostgresEngine } from './engine.ts';
export type { PostgresOptions } from './open-postgres.ts';
