/** The SQLite engine, for those who want to open it themselves. */
export { hasWalResetBug } from './database.ts';
export { openSqliteEngine, type SqliteEngineOptions } from './engine.ts';
