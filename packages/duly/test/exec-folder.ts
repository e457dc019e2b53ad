import { createFolder, type Folder, type Outcome } from './command.ts';

/** A folder whose commands use a store. */
export function folderOn(t: Parameters<typeof createFolder>[0], store: string): Folder {
  const folder = createFolder(t);
  folder.env.DULY_STORE = store;
  return folder;
}

/** Runs a program with `duly exec`, under a name and with a lease that is short enough to wait for. */
export function exec(folder: Folder, slot: string, ...argv: string[]): Promise<Outcome> {
  return folder.duly('exec', '--name', 'digest', '--slot', slot, '--ttl', '4s', '--', ...argv);
}
