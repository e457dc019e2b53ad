import assert from 'node:assert/strict';
import { test } from 'node:test';
import { z } from 'zod';
import { startServer } from './fixture.ts';

test('tasks tell what their inputs look like, also after their workers are gone', async (t) => {
  const input = z.object({ to: z.string(), copies: z.int().default(1) });
  const { ask, duly, store } = await startServer(t, {
    tasks: [
      { name: 'send_mail', version: 2, input, run: () => {} },
      { name: 'plain', run: () => {} },
    ],
    start: true,
  });
  // The worker tells of it once it has started.
  const reported = async () => {
    for (;;) {
      const { json } = await ask('/api/tasks');
      if (json.data.some((task: { input_schema: unknown }) => task.input_schema !== null)) return json.data;
      await new Promise(setImmediate);
    }
  };
  const [plain, mail] = await reported();
  assert.deepEqual([plain.type, plain.workers, plain.input_schema], ['plain', 1, null]);
  assert.deepEqual([mail.type, mail.workers, mail.version], ['send_mail', 1, 2]);
  assert.deepEqual(mail.input_schema.properties.to, { type: 'string' });
  assert.deepEqual(mail.input_schema.required, ['to']);
  await duly.stop();
  const other = await startServer(t, { store });
  const [kept] = (await other.ask('/api/tasks')).json.data;
  assert.deepEqual([kept.type, kept.workers, kept.input_schema], ['send_mail', 0, mail.input_schema]);
});
