/** The SQLite engine, for those who want to open it themselves. */
export { openSqliteEngine, type SqliteEngineOptions } from './engine.ts';
