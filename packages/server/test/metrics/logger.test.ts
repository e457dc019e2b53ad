import assert from 'node:assert/strict';
import { Writable } from 'node:stream';
import { test } from 'node:test';
import { Duly } from '@duly/core';
import { createLogger } from '../../src/index.ts';

function setup(redact?: string[]) {
  const lines: Record<string, unknown>[] = [];
  const destination = new Writable({
    write(chunk, _, done) {
      lines.push(JSON.parse(String(chunk)));
      done();
    },
  });
  return {
    lines,
    logger: createLogger({ level: 'debug', destination, ...(redact === undefined ? {} : { redact }) }),
  };
}

test('a line is one JSON object, with what must not be in a log left out, by path', () => {
  const { lines, logger } = setup(['job.input.user.name']);
  logger.warn(
    {
      error: new Error('no luck'),
      job: { id: 'job_1', input: { user: { name: 'Ada', id: 1 } } },
      request: { password: 'x' },
      headers: { authorization: 'Bearer duly_x_y', accept: '*/*' },
      token: 'abc',
    },
    'It happened.',
  );
  const [line] = lines;
  assert.equal(line?.level, 'warn');
  assert.equal(line?.msg, 'It happened.');
  assert.ok(!Number.isNaN(Date.parse(String(line?.time))));
  assert.match(JSON.stringify(line?.error), /no luck/);
  assert.deepEqual(line?.job, { id: 'job_1', input: { user: { name: '[redacted]', id: 1 } } });
  assert.deepEqual(line?.request, { password: '[redacted]' });
  assert.deepEqual(line?.headers, { authorization: '[redacted]', accept: '*/*' });
  assert.equal(line?.token, '[redacted]');
});

test('it is what a Duly and a server take as their logger', async (t) => {
  const { lines, logger } = setup();
  const duly = new Duly({ store: 'sqlite::memory:', logger });
  t.after(() => duly.stop());
  duly.on('opened', () => {
    throw new Error('a listener that throws');
  });
  await duly.open();
  assert.ok(lines.some(({ msg }) => msg === 'A listener of an event threw.'));
});
