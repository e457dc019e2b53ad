/** What the harness must know of a store that Duly does not tell. Each engine's room has a `store-internals.ts` that exports it. */
export interface StoreInternals {
  /** What must be added to the monotonic clock to have the store's time. */
  readStoreOffset(url: string): Promise<number>;
  /** Rows of the ledger, and when the newest was decided by the store's clock. */
  readLedger(url: string): Promise<{ count: number; lastDecidedAt: number | null }>;
  /** The address under which the statements of this process can be counted, and the count so far. */
  countStatements(url: string): { url: string; read(): number };
  /** A connection of the program's own on the same store, for transactions one after the other. */
  openTransactions?(url: string): Promise<OwnTransactions>;
}

/** Transactions of a program that also uses Duly. */
export interface OwnTransactions {
  /** Begins one; answers what the calls of Duly take as `tx`. */
  begin(): Promise<unknown>;
  commit(): Promise<void>;
  close(): Promise<void>;
}

/** The inside of the store that an address names. */
export async function storeInternalsOf(url: string): Promise<StoreInternals> {
  const name = url.split(':', 1)[0];
  return (await import(
    new URL(`./engines/${name}/store-internals.ts`, import.meta.url).href
  )) as StoreInternals;
}
