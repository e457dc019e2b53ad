/** A real server on a loopback port of its own, over a store of its own, gone after the test. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { Duly, type DulyOptions, type StartOptions, type TaskOptions } from '@duly/core';
import { quietLogger } from '@duly/core/internal';
import {
  createServer,
  type DulyServer,
  type Listening,
  listen,
  type Scope,
  type ServerOptions,
} from '../src/index.ts';

/** What a test asks for. */
export interface FixtureOptions {
  /** The store; left out, an SQLite file in a folder of its own. */
  store?: string;
  duly?: Omit<DulyOptions, 'store'>;
  // biome-ignore lint/suspicious/noExplicitAny: each task has its own schema and result
  tasks?: readonly TaskOptions<any, any>[];
  /** Starts a node in this process; left out, none runs. */
  start?: StartOptions | true;
  server?: Omit<ServerOptions, 'duly'>;
}

/** What a request says. */
export interface Ask {
  method?: string;
  /** A key; null: none. Left out: the admin's. */
  key?: string | null;
  body?: unknown;
  /** The body as it is, instead of `body`. */
  raw?: string | Uint8Array<ArrayBuffer> | ReadableStream;
  headers?: Record<string, string>;
}

/** What came back. */
export interface Answer {
  status: number;
  headers: Headers;
  text: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests look at what is there
  json: any;
}

/** A server that a test talks to. */
export interface Fixture {
  duly: Duly;
  server: DulyServer;
  listening: Listening;
  url: string;
  store: string;
  /** The text of an admin key. */
  adminKey: string;
  /** Makes a key and gives its text. */
  key(scope: Scope, tenant?: string | null): Promise<string>;
  /** Asks, and reads the whole answer. */
  ask(path: string, ask?: Ask): Promise<Answer>;
}

let newStore = (t: TestContext): string => `sqlite:${join(createFolder(t), 'duly.db')}`;

/** From now on tests that name no store get theirs here: the same tests, on another engine. */
export function useStores(stores: (t: TestContext) => string): void {
  newStore = stores;
}

/** A store of its own for a test that starts more than one server on it. */
export function createStore(t: TestContext): string {
  return newStore(t);
}

/** Starts it. */
export async function startServer(t: TestContext, options: FixtureOptions = {}): Promise<Fixture> {
  const store = options.store ?? newStore(t);
  const duly = new Duly({ app: 'server-test', logger: quietLogger, ...options.duly, store });
  for (const task of options.tasks ?? []) duly.task(task);
  const server = createServer({ ...options.server, duly });
  const listening = await listen(server, { port: 0, closeMs: 500 });
  t.after(async () => {
    await listening.close();
    await duly.stop({ drain: 0 });
  });
  if (options.start !== undefined) await duly.start(options.start === true ? {} : options.start);
  const key = async (scope: Scope, tenant: string | null = null): Promise<string> =>
    (await server.keys.create({ scope, tenant, by: 'test' })).key;
  const adminKey = await key('admin');
  const { url } = listening;
  return {
    duly,
    server,
    listening,
    url,
    store,
    adminKey,
    key,
    ask: (path, ask) => askOf(url, adminKey, path, ask),
  };
}

/** A folder that is removed after the test, once whatever uses it is gone. */
export function createFolder(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'duly-server-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

async function askOf(url: string, adminKey: string, path: string, ask: Ask = {}): Promise<Answer> {
  const {
    key = adminKey,
    body,
    raw,
    method = body === undefined && raw === undefined ? 'GET' : 'POST',
  } = ask;
  const response = await fetch(new URL(path, url), {
    method,
    redirect: 'manual',
    headers: {
      ...(key === null ? {} : { Authorization: `Bearer ${key}` }),
      ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
      ...ask.headers,
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    ...(raw === undefined ? {} : { body: raw }),
  });
  const text = await response.text();
  const isJson = /json/.test(response.headers.get('content-type') ?? '');
  return {
    status: response.status,
    headers: response.headers,
    text,
    json: isJson && text !== '' ? JSON.parse(text) : null,
  };
}
