// A page with a moving bar: `npm run example -- video-transcoding` plays one video and ends; with `--stay` the page stays for you.
import { setTimeout as sleep } from 'node:timers/promises';
import { Duly } from 'duly';
import { defineTranscoding, serveVideoApp } from './video-transcoding.ts';

const stays = process.argv.includes('--stay');
const duly = new Duly({ store: 'sqlite::memory:' });
defineTranscoding(duly, async (file, size, { signal, report }) => {
  for (let part = 0; part < 1; part += 0.25) {
    await report(part);
    await sleep(stays ? 500 : 50, undefined, { signal });
  }
  return `${file.replace(/\.\w+$/, '')}-${size}.mp4`;
});
duly.on('job.progress', ({ progress: { percent, message } }) =>
  console.log(`${'█'.repeat(percent / 5).padEnd(20, '░')} ${percent.toFixed(0).padStart(3)} %  ${message}`),
);

const { promise: done, resolve } = Promise.withResolvers<void>();
const app = await serveVideoApp(duly, ({ status, result }) => {
  console.log(`the webhook: ${status} ${JSON.stringify(result)}`);
  resolve();
});
await duly.start();
console.log(`the page: ${app.url}`);
if (!stays) {
  await fetch(`${app.url}/videos`, { method: 'POST', body: new URLSearchParams({ file: 'holiday.mov' }) });
  await done;
  await app.close();
  await duly.stop();
}
