import { hostname, userInfo } from 'node:os';
import { Duly, defaultStore } from '@duly/core';
import type { CommandContext, CommonOptions } from '../cli/context.ts';
import { invocation } from '../cli/invocation.ts';
import { loadProject } from '../project/load.ts';
import type { RemoteServer } from '../remote/remote-duly.ts';
import { givenServer } from '../remote/server.ts';
import { readServingPlace } from './serving-place.ts';
import {
  commandFor,
  existing,
  givenStore,
  inline,
  refuseMemory,
  refuseMissing,
  refuseUnmakable,
} from './store.ts';

/** What a command works with. */
export interface Client {
  duly: Duly;
  /** The store's address, or the server's. */
  store: string;
  /** Whether a server is asked, and not a store. */
  isServer: boolean;
  /** What a person is told to type to do something with this store, whole: `duly why job_… --store …`. */
  command(words: string): string;
  /** Notes which page of the dashboard shows what was changed. It is told at the end, where the dashboard is known to be served. */
  changed(page: string): void;
}

/** Who is named in the audit for what is done at a terminal. */
export function terminalActor(): string {
  try {
    return `${userInfo().username}@${hostname()}`;
  } catch {
    // A user id without a name, as in some containers.
    return `uid ${process.getuid?.() ?? '?'}@${hostname()}`;
  }
}

/**
 * Does something with the store that the options, the environment or the config name, and closes it. The store must be there, unless the command `creates` one.
 * The config is loaded only if neither option nor environment names the store.
 */
export async function withClient<Value>(
  context: CommandContext,
  options: CommonOptions,
  use: (client: Client) => Promise<Value>,
  { creates = false }: { creates?: boolean } = {},
): Promise<Value> {
  const server = givenServer(options);
  if (server !== null) return withServer(context, server, use);
  const given = givenStore(options.store);
  const project =
    given === undefined || options.config !== undefined
      ? await loadProject({ config: options.config, withTasks: false })
      : null;
  const store = given ?? project?.duly?.store ?? project?.options.store ?? defaultStore;
  if (creates) {
    refuseMemory(store);
    refuseUnmakable(store);
  } else refuseMissing(store);
  const own = given === undefined ? (project?.duly ?? null) : null;
  return useDuly(context, own ?? clientDuly(context, creates ? store : existing(store)), store, use);
}

/** Does something with a server. */
export async function withServer<Value>(
  context: CommandContext,
  server: RemoteServer,
  use: (client: Client) => Promise<Value>,
): Promise<Value> {
  const { createRemoteDuly } = await import('../remote/remote-duly.ts');
  const command = (words: string): string => `${invocation()} ${words} --server ${server.url}`;
  let page: string | null = null;
  const duly = createRemoteDuly(server, (changed) => {
    page = changed;
  });
  // What was asked of the server tells the page by itself.
  const value = await use({ duly, store: server.url, isServer: true, command, changed() {} });
  if (page !== null && !context.json) context.err.line(`Dashboard: ${server.url}${page}`);
  return value;
}

/** A Duly that creates and reads, and runs nothing. */
export function clientDuly(context: CommandContext, store: string): Duly {
  const say = (_fields: object, message: string): void => context.warn(message);
  return new Duly({
    store: inline(store),
    app: 'duly-command',
    actor: terminalActor(),
    logger: { debug() {}, info() {}, warn: say, error: say },
  });
}

/** Uses a Duly and stops it, whatever happens. */
export async function useDuly<Value>(
  context: CommandContext,
  duly: Duly,
  store: string,
  use: (client: Client) => Promise<Value>,
): Promise<Value> {
  let page: string | null = null;
  try {
    const value = await use({
      duly,
      store,
      isServer: false,
      command: (words) => commandFor(store, words),
      changed(shown) {
        page = shown;
      },
    });
    if (page !== null && !context.json) {
      // It is done, whatever becomes of this.
      const url = await readServingPlace(duly).catch(() => null);
      if (url !== null) context.err.line(`Dashboard: ${url}${page}`);
    }
    return value;
  } finally {
    await duly.stop();
  }
}
