import { readSchemaStatus } from '@duly/core/internal';
import type { CommandContext, CommonOptions } from '../cli/context.ts';
import { commandFor } from '../client/store.ts';
import { printJson } from '../output/json.ts';
import { storeToMigrate } from './migrate.ts';

/** `duly migrate status`: where the schema stands and what is missing. Changes nothing. */
export async function migrateStatus(context: CommandContext, options: CommonOptions): Promise<undefined> {
  const store = await storeToMigrate(options);
  const { place, schema, known, lowestCode, code, steps } = await readSchemaStatus(store);
  const serves = lowestCode <= code;
  if (context.json) {
    printJson(context.out, {
      ...{ place, schema, known_schema: known, lowest_code: lowestCode, code, serves, steps },
    });
    return;
  }
  const { out } = context;
  const stand = schema === 0 ? 'no schema yet' : `schema ${schema}`;
  if (!serves) {
    out.line(
      `${place}: ${stand}, which serves only versions of Duly from number ${lowestCode} on; this one has ${code}.`,
    );
  } else if (steps.length === 0) {
    out.line(
      `${place}: ${stand}, ${schema > known ? `newer than this version's ${known}, and still open to it` : 'nothing left to do'}.`,
    );
  } else {
    out.line(
      `${place}: ${stand}; ${steps.length} ${steps.length === 1 ? 'step is' : 'steps are'} missing to ${known}: ${steps.join(', ')}.`,
    );
    out.line(`To do it: ${commandFor(store, 'migrate')}`);
  }
}
