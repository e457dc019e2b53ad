// A server with a node, in a process of its own. With a second argument it makes a job that is told there, and dies by SIGKILL the moment
// its outcome is recorded: before the feed is read, and before anybody is told.
import { Duly } from '@duly/core';
import { createServer, listen } from '../../src/index.ts';

const [store = '', callbackUrl] = process.argv.slice(2);
const duly = new Duly({ store, logger: false });
duly.task({ name: 'render', run: () => 'created' });
const server = createServer({ duly, allowTargets: ['127.0.0.1'] });
const listening = await listen(server, { port: 0 });
duly.on('job.settled', ({ type }) => {
  if (type === 'render') process.kill(process.pid, 'SIGKILL');
});
await duly.start();
if (callbackUrl !== undefined) {
  const { key } = await server.keys.create({ scope: 'run', by: 'test' });
  await fetch(`${listening.url}/api/jobs`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', Authorization: `Bearer ${key}` },
    body: JSON.stringify({ type: 'render', callback_url: callbackUrl }),
  }).catch(() => {});
}
