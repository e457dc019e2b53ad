// Finds Chromium, and installs Debian's package where it is missing and that is allowed.

import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { installPackages, mayInstall } from './debian.ts';

const names = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'];

/** The path of Chromium; installs it if it must and may, otherwise says what to install. */
export function chromiumProgram(): string {
  const found = findChromium() ?? (installChromium() ? findChromium() : null);
  if (found !== null) return found;
  throw new Error(
    'The tests of the dashboard need Chromium, and it was not found. Install it (Debian: apt-get install chromium), or name it: DULY_CHROMIUM=<path>.',
  );
}

function findChromium(): string | null {
  const named = process.env['DULY_CHROMIUM'];
  if (named !== undefined && named !== '') return named;
  const folders = (process.env['PATH'] ?? '').split(delimiter).filter((folder) => folder !== '');
  const paths = folders.flatMap((folder) => names.map((name) => join(folder, name)));
  return paths.find((path) => existsSync(path)) ?? null;
}

function installChromium(): boolean {
  if (!mayInstall()) return false;
  console.error('Installing chromium for the tests of the dashboard …');
  return installPackages(['chromium']);
}
