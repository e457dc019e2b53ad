// The image and its compose file, read as far as they can be played without Docker.
import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { root } from '../../scripts/source-text.ts';

/** A service of the compose file, as far as it is looked at. */
export interface Service {
  image?: string;
  build?: { context: string; dockerfile: string };
  command?: string;
  environment?: Record<string, string>;
  volumes?: string[];
  ports?: string[];
  depends_on?: Record<string, { condition: string }>;
  healthcheck: { test: string[] };
}

/** The instructions of the Dockerfile, continued lines joined: `['RUN', 'npm ci']`. */
export function readDockerfile(): [instruction: string, rest: string][] {
  return readFileSync(join(root, 'docker/Dockerfile'), 'utf8')
    .replaceAll('\\\n', ' ')
    .split('\n')
    .filter((line) => line.trim() !== '' && !line.startsWith('#'))
    .map((line) => [line.split(' ')[0] as string, line.slice(line.indexOf(' ') + 1)]);
}

/** The compose file, with what its anchors stand for. */
export function readCompose(): { services: Record<string, Service>; volumes: Record<string, unknown> } {
  return parse(readFileSync(join(root, 'docker/compose.yaml'), 'utf8'), { merge: true });
}

/** What is run to make the final image of what was packed, one after the other. */
export function finalCommands(): string[] {
  const instructions = readDockerfile();
  const last = instructions.findLastIndex(([name]) => name === 'FROM');
  return instructions.slice(last).flatMap(([name, rest]) => (name === 'RUN' ? [rest] : []));
}

/** Runs these as if the folder were the root of the file system. Its users are not those of the image, so nothing is given to them. */
export function runUnder(folder: string, commands: string[], env: NodeJS.ProcessEnv): void {
  for (const created of ['opt', 'app', 'usr/local/bin'])
    mkdirSync(join(folder, created), { recursive: true });
  for (const command of commands) {
    if (command.startsWith('chown ')) continue;
    const placed = command.replace(/(?<=^|[\s=])\/(?=[a-z])/g, `${folder}/`);
    execFileSync('sh', ['-c', placed], { cwd: folder, env, stdio: ['ignore', 'pipe', 'pipe'] });
  }
}
