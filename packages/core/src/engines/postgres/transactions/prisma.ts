import { overError, type RecogniseTransaction } from './transaction.ts';

interface PrismaTransaction {
  $queryRawUnsafe(text: string, ...values: unknown[]): PromiseLike<Record<string, unknown>[]>;
  /** The client itself has it, a transaction has not. */
  $connect?: unknown;
}

/** What `prisma.$transaction` gives its callback, over a driver adapter. The client itself is none. */
export const recognisePrisma: RecogniseTransaction = (tx) => {
  const { $queryRawUnsafe, $connect } = tx as PrismaTransaction;
  if (typeof $queryRawUnsafe !== 'function' || $connect !== undefined) return null;
  return {
    async query(text, values) {
      try {
        return await (tx as PrismaTransaction).$queryRawUnsafe(text, ...values);
      } catch (error) {
        throw saidByServer(error) ?? error;
      }
    },
    refusal: () => null,
  };
};

interface PrismaError {
  code?: unknown;
  message?: string;
  meta?: { driverAdapterError?: { cause?: AdapterCause } };
}

interface AdapterCause {
  originalCode?: unknown;
  originalMessage?: unknown;
  hint?: unknown;
  detail?: unknown;
}

// Prisma's own code for a transaction that is committed, rolled back or past its time.
const over = 'P2028';

/** What the server said, which Prisma keeps deep inside, in the form that the driver gives it; null: the server said nothing. */
function saidByServer(error: unknown): Error | null {
  const { code, message, meta } = (error ?? {}) as PrismaError;
  const said = meta?.driverAdapterError?.cause;
  if (typeof said?.originalCode === 'string') {
    const { originalCode, originalMessage, hint, detail } = said;
    const plain = new Error(String(originalMessage ?? message), { cause: error });
    return Object.assign(plain, { code: originalCode, severity: 'ERROR', hint, detail });
  }
  return code === over ? overError(error) : null;
}
