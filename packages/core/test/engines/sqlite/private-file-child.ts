/** Opens a store under the umask of its first argument, makes a job, and prints the modes of all files of the folder while it is open. */
import { readdirSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { Duly } from '../../../src/index.ts';
import { quietLogger } from '../../../src/internal.ts';

const [umask = '0', path = ''] = process.argv.slice(2);
process.umask(Number.parseInt(umask, 8));
const duly = new Duly({ store: `sqlite:${path}`, logger: quietLogger });
await duly.taskNamed('work').now(1);
const folder = dirname(path);
const modes = readdirSync(folder).map((name) => [
  name,
  (statSync(join(folder, name)).mode & 0o777).toString(8),
]);
process.stdout.write(JSON.stringify(Object.fromEntries(modes)));
await duly.stop();
