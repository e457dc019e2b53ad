// `npm run example -- <name>`: runs a program of examples/; without a name it lists them.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { nearest } from '../packages/core/src/base/nearest.ts';
import { root } from './source-text.ts';

const [name, ...rest] = process.argv.slice(2);
const folder = join(root, 'examples');
const names = readdirSync(folder).filter((one) => existsSync(join(folder, one, 'main.ts')));

if (name !== undefined && names.includes(name)) {
  const args = ['--disable-warning=ExperimentalWarning', join(folder, name, 'main.ts'), ...rest];
  const [status] = await once(spawn(process.execPath, args, { stdio: 'inherit' }), 'exit');
  process.exitCode = status ?? 1;
} else {
  if (name !== undefined) {
    const near = nearest(name, names);
    console.error(`There is no example "${name}".${near === undefined ? '' : ` Did you mean "${near}"?`}`);
    process.exitCode = 2;
  }
  console.log(`npm run example -- <name>\n\n${names.map((one) => `  ${one}`).join('\n')}`);
}
