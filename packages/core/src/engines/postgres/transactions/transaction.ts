/** A transaction of the user's own, by whichever library it was begun. */
export interface Transaction {
  /** Runs one statement in it and answers its rows. Errors come out as the library throws them. */
  query(text: string, values: readonly unknown[]): Promise<Record<string, unknown>[]>;
  /** Why nothing can be done in it (any more), as far as the library tells; null: nothing speaks against it. */
  refusal(): string | null;
}

/** Makes a transaction of what a library gives its users, if it is of that library; null: it is not. */
export type RecogniseTransaction = (tx: object) => Transaction | null;
