import { defaultStore } from '@duly/core';
import { openEngine, readSchemaStatus } from '@duly/core/internal';
import type { CommandContext, CommonOptions } from '../cli/context.ts';
import { givenStore, refuseMemory, refuseUnmakable } from '../client/store.ts';
import { printJson } from '../output/json.ts';
import { loadProject } from '../project/load.ts';

/** `duly migrate`: opening a store brings it up to this code, so this opens it and tells where it stands. */
export async function migrate(context: CommandContext, options: CommonOptions): Promise<undefined> {
  const store = await storeToMigrate(options);
  const before = await readSchemaStatus(store);
  const engine = await openEngine(store);
  try {
    // Where the store stands by its own account: a newer version of Duly may have brought it further than this one knows.
    const { from: schema, to: known } = await engine.migrate({ dryRun: true });
    const { place, version } = engine.info();
    const created = before.schema === 0;
    if (context.json) {
      printJson(context.out, { place, version, schema, known_schema: known, created, steps: before.steps });
      return;
    }
    const rest =
      schema > known ? `newer than this version's ${known}, and still open to it` : 'nothing left to do';
    const brought =
      before.schema === schema
        ? 'Brought the functions up to date in'
        : `Brought from schema ${before.schema}`;
    const did = created ? 'Created' : before.steps.length > 0 ? brought : 'Checked';
    context.out.line(`${did} ${place}: schema ${schema}, ${rest}.`);
  } finally {
    await engine.close();
  }
}

/** The store that the options, the environment or the config name, if it is one that can be made. */
export async function storeToMigrate(options: CommonOptions): Promise<string> {
  const given = givenStore(options.store);
  const project =
    given === undefined ? await loadProject({ config: options.config, withTasks: false }) : null;
  const store = given ?? project?.duly?.store ?? project?.options.store ?? defaultStore;
  refuseMemory(store);
  refuseUnmakable(store);
  return store;
}
