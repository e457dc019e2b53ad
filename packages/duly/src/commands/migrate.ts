import { defaultStore, openEngine } from '@duly/core';
import { printJson } from '../output/json.ts';
import { loadProject } from '../project/load.ts';
import type { CommonOptions, Shell } from '../shell.ts';
import { givenStore, isNew } from '../store.ts';

/** `duly migrate`: opening a store brings it up to this code, so this opens it and tells where it stands. */
export async function migrate(shell: Shell, options: CommonOptions): Promise<undefined> {
  const given = givenStore(options.store);
  const project =
    given === undefined ? await loadProject({ config: options.config, withTasks: false }) : null;
  const store = given ?? project?.duly?.store ?? project?.options.store ?? defaultStore;
  const made = isNew(store);
  const engine = await openEngine(store);
  try {
    const { to } = await engine.migrate({ dryRun: true });
    const { place, version } = engine.info();
    if (shell.json) printJson(shell.out, { place, version, schema: to, made });
    else shell.out.line(`${made ? 'Made' : 'Checked'} ${place}: schema ${to}, nothing left to do.`);
  } finally {
    await engine.close();
  }
}
