import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { extname, join, relative, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';

/** A file of the built dashboard. */
export interface DashboardFile {
  readonly type: string;
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** Compressed once, when it was first read; null: it would not be smaller. */
  readonly zipped: Uint8Array<ArrayBuffer> | null;
  readonly tag: string;
}

/** The built dashboard in memory: some hundred kilobytes, read at the first visit. */
export interface DashboardFiles {
  /** The page that every address of the dashboard gets, as text. */
  readonly page: string;
  /** The other files by their path, such as `assets/index-B4rk.js`. */
  readonly files: ReadonlyMap<string, DashboardFile>;
}

const types: Readonly<Record<string, string>> = {
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.woff2': 'font/woff2',
};

// As far below package.json in the source as in what is published.
const folder = fileURLToPath(new URL('../../dashboard', import.meta.url));

/** Reads the built dashboard; null: it was not built. */
export function readDashboard(): DashboardFiles | null {
  const files = new Map<string, DashboardFile>();
  let page: string;
  try {
    page = readFileSync(join(folder, 'index.html'), 'utf8');
    for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
      const type = types[extname(entry.name)];
      if (!entry.isFile() || type === undefined) continue;
      const file = join(entry.parentPath, entry.name);
      files.set(relative(folder, file).split(sep).join('/'), fileOf(readFileSync(file), type));
    }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
  return { page, files };
}

function fileOf(bytes: Uint8Array<ArrayBuffer>, type: string): DashboardFile {
  const zipped = gzipSync(bytes);
  return {
    type,
    bytes,
    zipped: zipped.length < bytes.length ? zipped : null,
    tag: `"${createHash('sha256').update(bytes).digest('base64url').slice(0, 16)}"`,
  };
}
