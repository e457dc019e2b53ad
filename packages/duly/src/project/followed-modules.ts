import module from 'node:module';
import { fileURLToPath, pathToFileURL } from 'node:url';

/**
 * Which modules are the user's own, and how they are loaded anew. Modules are kept by their address for as long as the process lives, so a
 * new version of a file needs a new address, and so does everything that imports it: each generation has its own.
 */

const parameter = 'duly-generation';
let generation = 0;
let isFollowing = false;
const files = new Set<string>();

/** Begins to learn which modules the user's modules import. From now on, `beginGeneration` loads all of them anew. */
export function followModules(): void {
  if (isFollowing) return;
  isFollowing = true;
  module.registerHooks({
    resolve(specifier, context, nextResolve) {
      const resolved = nextResolve(specifier, context);
      const of = generationOf(context.parentURL);
      // What is installed is not written meanwhile; and a second copy of Duly itself would be of no use.
      if (of === null || !/^(\.|\/|#|file:)/.test(specifier) || !isOwn(resolved.url)) return resolved;
      files.add(fileURLToPath(resolved.url));
      return { ...resolved, url: addressOf(resolved.url, of) };
    },
  });
}

/** The address by which a module of the user's is imported now. */
export function moduleAddress(path: string): string {
  files.add(path);
  return addressOf(pathToFileURL(path).href, generation);
}

/** What is loaded from now on is loaded anew. */
export function beginGeneration(): void {
  generation++;
}

/** The modules of the user's that were imported so far, by their paths. */
export function followedModules(): ReadonlySet<string> {
  return files;
}

/** The same text without what makes an address that of a generation: places in files as people know them. */
export function withoutGeneration(text: string): string {
  return text.replaceAll(new RegExp(`[?&]${parameter}=\\d+`, 'g'), '');
}

function addressOf(url: string, of: number): string {
  if (of === 0) return url;
  const address = new URL(url);
  address.searchParams.set(parameter, String(of));
  return address.href;
}

/** The generation of a module of the user's; null: it is none. A module that imports late stays with its own. */
function generationOf(url: string | undefined): number | null {
  if (url === undefined || !isOwn(url) || !files.has(fileURLToPath(url))) return null;
  return Number(new URL(url).searchParams.get(parameter) ?? 0);
}

function isOwn(url: string): boolean {
  return url.startsWith('file:') && !url.includes('/node_modules/');
}
