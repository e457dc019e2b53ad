/** A real server with a real worker, and a real browser that is signed in, gone after the test. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { Duly, type TaskOptions } from '@duly/core';
import { createServer, type Listening, listen, type Scope } from '@duly/server';
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core';
import { chromiumProgram } from '../../../../test/servers/chromium.ts';

/** What a test asks for. */
export interface DashboardOptions {
  // biome-ignore lint/suspicious/noExplicitAny: each task has its own input and result
  tasks?: readonly TaskOptions<any, any>[];
  scope?: Scope;
  /** Whose key the browser signs in with; left out, one of the whole store. */
  tenant?: string;
  browser?: BrowserContextOptions;
  basePath?: string;
  /** Private addresses that the server may send to. */
  allowTargets?: readonly string[];
  /** The store; left out, one of its own. */
  store?: string;
}

/** A dashboard that a test looks at. */
export interface Dashboard {
  duly: Duly;
  page: Page;
  url: string;
  /** Asks the API beside the page. */
  // biome-ignore lint/suspicious/noExplicitAny: tests look at what is there
  api(path: string, init?: RequestInit): Promise<any>;
  /** Goes to a page of the dashboard: the first time by loading it, then as a link would. */
  open(path: string): Promise<void>;
  /** What the page complained about so far. */
  complaints: string[];
  /** Requests that went to another host than the server's. */
  strangers: string[];
  /** Ends the server while the page is open. */
  stopServer(): Promise<void>;
  /** Starts it again at the same address. */
  startServer(): Promise<void>;
}

let shared: Promise<Browser> | null = null;

/** One browser for all tests of a file: starting one takes longer than most of them. */
function theBrowser(): Promise<Browser> {
  shared ??= chromium.launch({ executablePath: chromiumProgram(), args: ['--no-sandbox', '--disable-gpu'] });
  return shared;
}

/** Ends the shared browser; call it in `after`. */
export async function closeBrowser(): Promise<void> {
  await (await shared)?.close();
}

let newStore = (folder: string): string => `sqlite:${join(folder, 'duly.db')}`;

/** From now on tests get their stores here: the same tests, on another engine. */
export function takeStoresFrom(stores: () => string): void {
  newStore = stores;
}

/** Starts everything and signs in. No page is open yet. */
export async function openDashboard(t: TestContext, options: DashboardOptions = {}): Promise<Dashboard> {
  const { tasks = [], scope = 'admin', basePath = '' } = options;
  const folder = mkdtempSync(join(tmpdir(), 'duly-dashboard-'));
  const store = options.store ?? newStore(folder);
  const duly = new Duly({ store, app: 'dashboard-test' });
  for (const task of tasks) duly.task(task);
  if (tasks.length > 0) await duly.start();
  const { allowTargets = [] } = options;
  const server = createServer({ duly, basePath, allowTargets });
  let listening: Listening = await listen(server, { port: 0, closeMs: 500 });
  const port = Number(new URL(listening.url).port);
  const { key } = await server.keys.create({ scope, tenant: options.tenant ?? null, by: 'test' });
  const { key: adminKey } = await server.keys.create({ scope: 'admin', tenant: null, by: 'test' });
  const browser = await theBrowser();
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, ...options.browser });
  const page = await context.newPage();
  // Far beyond what any of it takes: the machine may be very busy.
  page.setDefaultTimeout(60_000);
  const complaints: string[] = [];
  page.on('console', (message) => {
    if (message.type() === 'error') complaints.push(message.text());
  });
  page.on('pageerror', (error) => complaints.push(error.message));
  t.after(async () => {
    await context.close();
    await listening.close();
    await duly.stop({ drain: 0 });
    rmSync(folder, { recursive: true, force: true });
  });
  const { origin } = new URL(listening.url);
  const url = `${origin}${basePath}`;
  const strangers: string[] = [];
  page.on('request', (request) => {
    if (new URL(request.url()).origin !== origin) strangers.push(request.url());
  });
  // Signs the browser in without the cost of a page.
  await context.request.post(`${url}/api/session`, { headers: { Authorization: `Bearer ${key}` } });
  let isLoaded = false;
  return {
    duly,
    page,
    url,
    complaints,
    strangers,
    async api(path, init = {}) {
      const headers = { authorization: `Bearer ${adminKey}`, 'content-type': 'application/json' };
      const response = await fetch(`${url}/api/${path}`, { ...init, headers });
      return response.json();
    },
    async open(path) {
      // The router hears of addresses that are pushed, whoever pushes them.
      if (isLoaded) await page.evaluate((to) => history.pushState({}, '', to), `${url}/${path}`);
      else await page.goto(`${url}/${path}`, { waitUntil: 'commit' });
      isLoaded = true;
      await page.getByRole('heading', { level: 1 }).waitFor();
    },
    stopServer: () => listening.close(),
    async startServer() {
      // As a new process would: a Duly of its own on the same store.
      const fresh = new Duly({ store, app: 'dashboard-test' });
      listening = await listen(createServer({ duly: fresh, basePath }), { port, closeMs: 500 });
      t.after(() => fresh.stop({ drain: 0 }));
    },
  };
}

/** Searches the list of jobs. */
export async function search(page: Page, text: string): Promise<void> {
  await page.getByLabel('Search jobs').fill(text);
  await page.keyboard.press('Enter');
}

/** A promise with its ends, for handlers that a test holds. */
export function gate(): { opened: Promise<void>; open(): void } {
  const { promise, resolve } = Promise.withResolvers<void>();
  return { opened: promise, open: resolve };
}
