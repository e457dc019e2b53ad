import { recogniseDrizzle } from './drizzle.ts';
import { recogniseKnex } from './knex.ts';
import { recogniseKysely } from './kysely.ts';
import { recognisePg } from './pg.ts';
import { recognisePostgresJs } from './postgres-js.ts';
import { recognisePrisma } from './prisma.ts';
import type { RecogniseTransaction, Transaction } from './transaction.ts';

const kinds: RecogniseTransaction[] = [
  recognisePg,
  recognisePostgresJs,
  recogniseKysely,
  recogniseKnex,
  recogniseDrizzle,
  recognisePrisma,
];

/** The transaction that this stands for; null: none of a library that is known. */
export function recogniseTransaction(tx: unknown): Transaction | null {
  if ((typeof tx !== 'object' && typeof tx !== 'function') || tx === null) return null;
  for (const recognise of kinds) {
    const known = recognise(tx);
    if (known !== null) return known;
  }
  return null;
}
