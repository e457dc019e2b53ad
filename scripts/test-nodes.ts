// `npm run test:nodes`: the library's tests on every Node it promises to run on. `npm run test:nodes -- 22 26 [files]` takes only
// these. The Nodes come from the npm registry into test/nodes, once; the Node of the repository is the one that runs this.

import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { installBeside } from '../test/install-beside.ts';
import { sharedServerVariable, startPostgres } from '../test/servers/postgres.ts';
import { root } from './source-text.ts';

/** The tests of the library, those of `npm run prove` too. */
const library = ['packages/core/test/**/*.test.ts', 'packages/conformance/test/**/*.test.ts'];

/** The Nodes by the names they are asked for. 24 is the one of the repository. */
export const nodeNames = ['22', '24', '26'];

/** Where the program of a Node is; null: the registry has none for this machine. */
function programOf(name: string): string | null {
  if (process.versions.node.startsWith(`${name}.`)) return process.execPath;
  const file = process.platform === 'win32' ? 'node.exe' : 'node';
  const platform = `${process.platform === 'win32' ? 'win' : process.platform}-${process.arch}`;
  // One of the publishers of these packages puts another word into the name.
  const packages = [`node-${name}-${platform}`, `node-${name}-bin-${platform}`];
  const places = packages.map((found) => join(root, 'test/nodes/node_modules', found, 'bin', file));
  return places.find(existsSync) ?? null;
}

const stay = 'setInterval(() => {}, 60_000)';

interface TestedNode {
  name: string;
  program: string;
}

async function testOn(
  { name, program }: TestedNode,
  files: string[],
  environment: NodeJS.ProcessEnv,
): Promise<number> {
  const args = ['--test', '--test-concurrency=2', '--test-timeout=600000', '--test-reporter=spec'];
  // The test runner of Node 22 ends a test that waits for something that by itself keeps no process alive.
  if (name === '22')
    args.push('--test-force-exit', '--import', `data:text/javascript,${encodeURIComponent(stay)}`);
  // Older Nodes say of themselves that parts of them are experimental, where tests look at what is printed.
  const env = { ...process.env, ...environment, NODE_OPTIONS: '--disable-warning=ExperimentalWarning' };
  const [status] = await once(
    spawn(program, [...args, ...files], { cwd: root, stdio: 'inherit', env }),
    'exit',
  );
  return status ?? 1;
}

if (import.meta.main) {
  const asked = process.argv.slice(2);
  const names = asked.filter((word) => nodeNames.includes(word));
  const files = asked.filter((word) => !nodeNames.includes(word));
  const missing = installBeside(new URL('../test/nodes/', import.meta.url));
  if (missing !== null) console.error(`The other Nodes are not here: ${missing}.`);
  const server = await startPostgres().catch((error: Error) => {
    console.error(error.message);
    return null;
  });
  const results: string[] = [];
  try {
    for (const name of names.length > 0 ? names : nodeNames) {
      const program = programOf(name);
      if (program === null) {
        results.push(`Node ${name}: not here`);
        process.exitCode = 1;
        continue;
      }
      const version = spawnSync(program, ['--version'], { encoding: 'utf8' }).stdout.trim();
      console.log(`\nNode ${version}\n`);
      const status = await testOn(
        { name, program },
        files.length > 0 ? files : library,
        server === null ? {} : { [sharedServerVariable]: server.url },
      );
      results.push(`Node ${version}: ${status === 0 ? 'passed' : 'failed'}`);
      if (status !== 0) process.exitCode = 1;
    }
  } finally {
    await server?.stop();
  }
  console.log(`\n${results.join('\n')}`);
}
