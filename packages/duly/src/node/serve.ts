import { rmSync, writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { type Duly, DulyError, isDulyError } from '@duly/core';
import type { Listening } from '@duly/server';
import { usageError } from '../cli/usage.ts';
import { terminalActor } from '../client/client.ts';

/** Where and how `up` serves. */
export interface ServeOptions {
  host: string;
  /** null: 4600, or a free one near it. */
  port: number | null;
  allowHosts: readonly string[];
  trustProxy: boolean;
  /** Requests per second and key; 0: no limit; null: the default. */
  rateLimit: number | null;
  allowTargets: readonly string[];
  allowCommands: boolean;
  /** Whether the first key may be printed; otherwise it is written to a file that only this user can read. */
  mayPrintKey: boolean;
}

/** The server of a node. */
export interface Served {
  url: string;
  port: number;
  /** The port that was wanted and taken; null: it listens where it should. */
  movedFrom: number | null;
  /** The key that was created because there was none; null: there was one. It is never shown again. */
  firstKey: string | null;
  /** The file with the key that was created because there was none; null: there was one, or it is printed. */
  firstKeyFile: string | null;
  close(): Promise<void>;
}

// So many ports after the usual one are tried before any free one is taken, so that the address stays easy to remember.
const nearCount = 10;
// Requests on their way may finish for so long when the node stops.
const closeMs = 1_000;

/**
 * Serves the HTTP API and the dashboard of a Duly, with a first key where there is none. The server is loaded here and not before, so that the node runs already while it is.
 * Throws `listen_failed`.
 */
export async function serve(duly: Duly, options: ServeOptions): Promise<Served> {
  const { createServer, defaultPort, listen } = await import('@duly/server');
  const server = createServer({
    duly,
    hosts: options.allowHosts,
    trustProxy: options.trustProxy,
    ...(options.rateLimit === null
      ? {}
      : { rateLimit: options.rateLimit === 0 ? (false as const) : { perSecond: options.rateLimit } }),
    allowTargets: options.allowTargets,
    allowCommands: options.allowCommands,
    ...readSmtp(process.env),
  });
  const { host, port } = options;
  const near = Array.from({ length: nearCount }, (_, i) => defaultPort + i);
  const ports = port === null ? [...near, 0] : [port];
  // Before anybody can ask: nothing listens beyond this machine without a key.
  const first = (await server.keys.any())
    ? null
    : await server.keys.create({ scope: 'admin', note: 'created by the first start', by: terminalActor() });
  let firstKeyFile: string | null = null;
  let listening: Listening | null = null;
  for (const [i, one] of ports.entries()) {
    try {
      if (first !== null && !options.mayPrintKey) firstKeyFile ??= writeKey(first);
      listening = await listen(server, { host, port: one, closeMs });
      break;
    } catch (error) {
      const isTaken = isDulyError(error, 'listen_failed') && error.details.taken === true;
      if (isTaken && i < ports.length - 1) continue;
      // Nobody will ever have seen it, and the next start would not make another.
      if (first !== null) await server.keys.revoke(first.id);
      if (firstKeyFile !== null) rmSync(firstKeyFile, { force: true });
      throw error;
    }
  }
  const { url, port: taken, close } = listening as Listening;
  return {
    url,
    port: taken,
    firstKey: firstKeyFile === null ? (first?.key ?? null) : null,
    firstKeyFile,
    close,
    movedFrom: port === null && taken !== defaultPort ? defaultPort : null,
  };
}

/** Writes a key to a new file in the working folder that only this user can read. */
function writeKey({ id, key }: { id: string; key: string }): string {
  const file = resolve(`duly-first-key-${id}`);
  try {
    writeFileSync(file, `${key}\n`, { mode: 0o600, flag: 'wx' });
  } catch (error) {
    throw new DulyError('listen_refused', {
      message: `The store has no key yet, and the first one could not be written to "${file}".`,
      hint: 'Create a key first (duly keys add --scope admin), or start in a folder that this user may write to.',
      details: { file },
      cause: error,
    });
  }
  return file;
}

/** How alerts are mailed. From the environment: the address of a mail server holds a password, and other users of the machine see command lines. */
export function readSmtp(env: NodeJS.ProcessEnv): { smtp?: { url: string; from: string } } {
  const { DULY_SMTP_URL: url = '', DULY_MAIL_FROM: from = '' } = env;
  if (url === '' && from === '') return {};
  if (!/^smtps?:\/\/./.test(url) || from === '') {
    throw usageError(
      'Expected DULY_SMTP_URL to be like "smtp://user:password@mail.example.com:587", and DULY_MAIL_FROM to be the sender.',
    );
  }
  return { smtp: { url, from } };
}
