// A move that dies after so many pages, as by kill -9.
import { moveStore } from '@duly/core';

const [from, to, pages] = process.argv.slice(2) as [string, string, string];
let left = Number(pages);
await moveStore({
  from,
  to,
  onProgress() {
    left -= 1;
    if (left <= 0) process.kill(process.pid, 'SIGKILL');
  },
});
