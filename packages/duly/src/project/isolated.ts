/**
 * The module that an isolated task's thread is told to load, when the task is a definition and not made by `duly.task` in the
 * user's own module: it loads that module and defines its tasks in this thread. Which module stands in the address.
 */
import { Duly } from '@duly/core';
import { definitionsOf } from './load.ts';
import { importModule } from './modules.ts';

const file = new URL(import.meta.url).searchParams.get('file') as string;
// Never opened: a Duly touches its store with the first call that needs it.
const duly = new Duly({ store: 'sqlite::memory:' });
for (const definition of definitionsOf(file, await importModule(file))) {
  duly.task({ ...definition, isolate: false });
}
