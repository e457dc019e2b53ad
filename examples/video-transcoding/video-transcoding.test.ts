import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { Duly } from 'duly';
import { createTestDuly } from 'duly/testing';
import { defineTranscoding, type Reported, serveVideoApp, sizes } from './video-transcoding.ts';

test('progress moves over all sizes, and a size that is done is not made again after a crash', async () => {
  const t = createTestDuly();
  const created: string[] = [];
  const video = defineTranscoding(t, async (file, size, { report }) => {
    await report(0.5);
    await t.clock.sleep(600_000);
    created.push(size);
    return `${file}-${size}`;
  });
  const job = await video.now({ file: 'a' });
  await t.advance('15m');
  const { progress } = await job.get();
  assert.deepEqual(progress, { percent: 37.5, message: 'Transcoding 720p', step: 1, of: 4 });
  await t.outage('5m');
  await t.advance('1h');
  const { status, losses, result } = await job.get();
  assert.deepEqual([status, losses], ['COMPLETED', 1]);
  assert.deepEqual(result, { '360p': 'a-360p', '720p': 'a-720p', '1080p': 'a-1080p', '4K': 'a-4K' });
  assert.equal(created.filter((size) => size === '360p').length, 1);
  await t.stop();
});

/** The app on a port of its own, with a transcoder that waits at each size until the test lets it go on. */
async function startApp(context: TestContext) {
  const duly = new Duly({ store: 'sqlite::memory:' });
  const gates = new Map(sizes.map((size) => [size as string, Promise.withResolvers<void>()]));
  defineTranscoding(duly, async (file, size, { report }) => {
    await report(0.5);
    await gates.get(size)?.promise;
    return `${file}-${size}`;
  });
  const { promise: done, resolve } = Promise.withResolvers<Reported>();
  const app = await serveVideoApp(duly, resolve);
  context.after(async () => {
    for (const { resolve: open } of gates.values()) open();
    await app.close();
    await duly.stop();
  });
  await duly.start();
  const upload = async (): Promise<string> => {
    const body = new URLSearchParams({ file: 'holiday' });
    const answer = await fetch(`${app.url}/videos`, { method: 'POST', body });
    assert.equal(answer.status, 202);
    return ((await answer.json()) as { id: string }).id;
  };
  return { app, gates, done, upload };
}

test('the page follows the job by events, the bar moves, and the signed webhook tells the app', async (context) => {
  const { app, gates, done, upload } = await startApp(context);
  const html = await (await fetch(app.url)).text();
  assert.match(html, /<progress max="100"/);
  const id = await upload();
  // The same address as in the page.
  assert.ok(html.includes("new EventSource('/duly/api/jobs/' + id + '/events?logs=false')"));
  const events = await fetch(`${app.url}/duly/api/jobs/${id}/events?logs=false`);
  assert.equal(events.status, 200);
  const seen: number[] = [];
  let text = '';
  for await (const chunk of (events.body as ReadableStream<Uint8Array>).pipeThrough(
    new TextDecoderStream(),
  )) {
    text += chunk;
    const messages = text.split('\n\n');
    text = messages.pop() ?? '';
    for (const message of messages) {
      const data = /^data: (.*)$/m.exec(message)?.[1];
      if (data === undefined || /^event:/m.test(message)) continue;
      const job = JSON.parse(data) as { progress: number; metadata: { current_step?: string } };
      seen.push(job.progress);
      // Each size goes on only once its half is seen, so that every state is told.
      const [, size] = /Transcoding (.*)/.exec(job.metadata.current_step ?? '') ?? [];
      const at = sizes.indexOf(size as (typeof sizes)[number]);
      if (job.progress === ((at + 0.5) / sizes.length) * 100) gates.get(size as string)?.resolve();
    }
  }
  for (const percent of [12.5, 37.5, 62.5, 87.5, 100])
    assert.ok(seen.includes(percent), `${percent} of ${seen}`);
  assert.deepEqual(
    seen,
    seen.toSorted((a, b) => a - b),
  );
  const reported = await done;
  assert.deepEqual([reported.id, reported.status], [id, 'COMPLETED']);
  assert.deepEqual(reported.result, Object.fromEntries(sizes.map((size) => [size, `holiday-${size}`])));
});

test('a visitor may look and no more, and a webhook that nobody signed is refused', async (context) => {
  const { app } = await startApp(context);
  const send = (path: string, headers = {}) =>
    fetch(`${app.url}${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: '{"type":"video_transcode"}',
    });
  assert.equal((await fetch(`${app.url}/duly/api/jobs`)).status, 200);
  assert.equal((await send('/duly/api/jobs')).status, 403);
  assert.equal((await send('/hooks/video')).status, 401);
});
