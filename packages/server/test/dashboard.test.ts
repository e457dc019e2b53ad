import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startServer } from './fixture.ts';

const scriptOf = (page: string): string => /src="\.\/(assets\/[^"]+\.js)"/.exec(page)?.[1] as string;

test('the page is there for every address of the dashboard, says where it is mounted, and lets nothing in', async (t) => {
  const { ask } = await startServer(t);
  for (const path of [
    '/',
    '/jobs',
    '/jobs/job_01k9',
    '/schedules/a/b',
    '/tasks/mail.send',
    '/schedules/nightly.report.sh',
  ]) {
    const { status, headers, text } = await ask(path);
    assert.equal(status, 200, path);
    assert.match(headers.get('content-type') ?? '', /^text\/html/);
    assert.match(text, /<base href="\/" \/>/);
    assert.match(headers.get('content-security-policy') ?? '', /default-src 'none'; script-src 'self'/);
    assert.doesNotMatch(text, /<script>|<style|https?:\/\//);
  }
});

test('without a key the page comes with 401: it shows how to sign in, and nothing of the store', async (t) => {
  const { ask } = await startServer(t);
  const { status, text } = await ask('/', { key: null });
  assert.equal(status, 401);
  assert.match(text, /<div id="app">/);
});

test('scripts need no key, are kept for ever under their name, and come compressed to those who take it', async (t) => {
  const { ask } = await startServer(t);
  const script = scriptOf((await ask('/')).text);
  const plain = await ask(`/${script}`, { key: null, headers: { 'accept-encoding': 'identity' } });
  assert.equal(plain.status, 200);
  assert.match(plain.headers.get('cache-control') ?? '', /immutable/);
  assert.equal(plain.headers.get('content-encoding'), null);
  const zipped = await ask(`/${script}`, { key: null, headers: { 'accept-encoding': 'gzip' } });
  assert.equal(zipped.headers.get('content-encoding'), 'gzip');
  assert.equal(zipped.text, plain.text);
  const again = await ask(`/${script}`, {
    headers: { 'if-none-match': plain.headers.get('etag') as string },
  });
  assert.equal(again.status, 304);
});

test('a file that is not there, a way out of the folder and an unknown route of the API are not found', async (t) => {
  const { ask } = await startServer(t);
  for (const path of ['/assets/nope.js', '/%2e%2e/package.json', '/..%2fpackage.json', '/api/nope', '/api']) {
    const { status, json } = await ask(path);
    assert.equal(status, 404, path);
    assert.equal(json.code, 'route_not_found');
  }
  assert.equal((await ask('/', { method: 'POST', body: {} })).status, 404);
});

test('under a path of its own the page and its files are found there', async (t) => {
  const { ask } = await startServer(t, { server: { basePath: '/ops/duly' } });
  const { status, text } = await ask('/ops/duly/jobs');
  assert.equal(status, 200);
  assert.match(text, /<base href="\/ops\/duly\/" \/>/);
  assert.equal((await ask(`/ops/duly/${scriptOf(text)}`)).status, 200);
});
