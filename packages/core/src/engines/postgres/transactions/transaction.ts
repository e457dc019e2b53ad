/** Said by a library that does not tell whether a transaction is open. */
export const unknownStatus = Symbol('unknown status');

/** A transaction of the user's own, by whichever library it was begun. */
export interface Transaction {
  /** Runs one statement in it and answers its rows. Errors come out as the library throws them. */
  query(text: string, values: readonly unknown[]): Promise<Record<string, unknown>[]>;
  /** Why nothing can be done in it (any more); null: it is open; `unknownStatus`: the library does not tell, and the server has to be asked. */
  refusal(): string | null | typeof unknownStatus;
  /**
   * Tells once how it ended, as soon as the server has said so. Of two listeners with one name the later counts. Left out: the library does
   * not let anybody know, and the server has to be asked.
   */
  onEnd?(name: string, listener: (end: TransactionEnd) => void): void;
}

/** How a transaction ended; `unknown`: it is over here, but perhaps not on the server, or nobody heard how. */
export type TransactionEnd = 'committed' | 'rolled-back' | 'unknown';

/** Makes a transaction of what a library gives its users, if it is of that library; null: it is not. */
export type RecogniseTransaction = (tx: object) => Transaction | null;

/** What a library throws for a transaction that is over, in the words of the server: no transaction is active (25P01). */
export function overError(cause: unknown): Error {
  const error = new Error((cause as Error).message, { cause });
  return Object.assign(error, { code: '25P01', severity: 'ERROR' });
}
