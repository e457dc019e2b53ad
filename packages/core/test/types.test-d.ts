// Type tests: nothing here runs. `npm run check` compiles it, and an error that is expected but does not come is an error.
import { z } from 'zod';
import {
  Duly,
  type Job,
  type JobHandle,
  type LockResult,
  type Schedule,
  type SlotWhy,
  type Task,
} from '../src/index.ts';

type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
declare function same<A, B>(proof: Equal<A, B>): void;

export async function types(): Promise<void> {
  const duly = new Duly({ store: 'sqlite::memory:', app: 'types' });

  // Stopped at the end of the block.
  await using brief = new Duly({ store: 'sqlite::memory:' });
  same<typeof brief, Duly>(true);

  // @ts-expect-error an unknown option
  new Duly({ stroe: 'sqlite::memory:' });
  // @ts-expect-error an unknown role
  await duly.start({ roles: ['wroker'] });

  // The input of the verbs is what the schema takes, the input of the handler is what it gives.
  const transcode = duly.task({
    name: 'video_transcode',
    input: z.object({ url: z.string(), quality: z.number().default(1080), at: z.coerce.date().optional() }),
    retry: { attempts: 3, backoff: 'exponential' },
    timeout: '30m',
    run: async ({ input, attempt, fence, signal, job }) => {
      same<typeof input, { url: string; quality: number; at?: Date | undefined }>(true);
      same<typeof attempt, number>(true);
      same<typeof fence, number>(true);
      same<typeof signal, AbortSignal>(true);
      same<typeof job.id, string>(true);
      return { frames: input.quality * 2 };
    },
  });
  const handle = await transcode.now({ url: 'a' });
  same<Awaited<ReturnType<typeof handle.result>>, { frames: number }>(true);
  const job = await handle.wait({ timeout: '1m' });
  same<typeof job.result, { frames: number } | null>(true);
  same<typeof job.input.url, string>(true);
  same<typeof job.input.quality, number | undefined>(true);
  await transcode.in(
    '3 days',
    { url: 'a', quality: 720 },
    { priority: 5, dedupe: { key: 'a', mode: 'extend' } },
  );
  await transcode.at(new Date(0), { url: 'a' });
  const many = await transcode.nowMany([{ url: 'a' }, { url: 'b' }], (input, index) => {
    same<typeof input.url, string>(true);
    return { key: `${index}` };
  });
  same<
    (typeof many)[number],
    JobHandle<{ url: string; quality?: number | undefined; at?: unknown }, { frames: number }>
  >(true);

  // @ts-expect-error the input is needed
  await transcode.now();
  // @ts-expect-error a field is missing
  await transcode.now({});
  // @ts-expect-error a field has another type
  await transcode.now({ url: 1 });
  // @ts-expect-error an unknown option of a job
  await transcode.now({ url: 'a' }, { prioritty: 1 });
  // @ts-expect-error an unknown mode
  await transcode.now({ url: 'a' }, { dedupe: { key: 'a', mode: 'merge' } });
  // @ts-expect-error the delay comes first
  await transcode.in({ url: 'a' });
  // @ts-expect-error schedules are not there yet
  transcode.every('0 8 * * 1');

  // Without a schema the input is unknown, and may be left out.
  const plain = duly.task({
    name: 'plain',
    run: ({ input }) => {
      same<typeof input, unknown>(true);
      return 7;
    },
  });
  await plain.now();
  await plain.now({ anything: true });
  await plain.in('5m');
  same<typeof plain, Task<unknown, number>>(true);
  same<Awaited<ReturnType<Awaited<ReturnType<typeof plain.now>>['result']>>, number>(true);

  // A schema that takes undefined lets the input be left out.
  const optional = duly.task({
    name: 'optional',
    input: z.string().optional(),
    run: ({ input }) => input ?? 'none',
  });
  await optional.now();
  await optional.now('a');
  // @ts-expect-error another type
  await optional.now(1);

  // A handler that never returns, and one that retries.
  duly.task({
    name: 'never',
    run: ({ retryIn, snooze, retryAt }) => {
      if (Math.PI > 3) retryIn('5m', 'not yet');
      if (Math.PI > 3) retryAt('2027-01-01T00:00:00Z');
      return snooze('1h');
    },
  });
  // @ts-expect-error a task needs a handler
  duly.task({ name: 'no-handler' });
  const typed = duly.task({
    name: 'typed-schedule',
    input: z.object({ user: z.number() }),
    every: [
      { cron: '0 0 * * *', input: { user: 1 }, missed: 'all' },
      { rate: '10m', name: 'b', input: { user: 2 } },
    ],
    run: ({ slot, covers }) => [slot?.date, covers?.count],
  });
  same<Awaited<ReturnType<typeof typed.every>>, Schedule>(true);
  // @ts-expect-error the input is needed
  void typed.every('0 0 * * *');
  // @ts-expect-error the input has another type
  void typed.every('0 0 * * *', { user: 'a' });
  same<Awaited<ReturnType<typeof slotWhy>>, SlotWhy>(true);
  async function slotWhy() {
    return duly.why('nightly', '2027-03-14T02:30');
  }
  // @ts-expect-error an unknown policy
  duly.task({ name: 'scheduled', every: { cron: '0 0 * * *', misfire: 'all' }, run: () => {} });

  // Jobs of other programs.
  const other = duly.job('job_x');
  same<Awaited<ReturnType<typeof other.get>>, Job<unknown, unknown>>(true);
  for await (const one of duly.jobs({ status: ['FAILED'], type: 'plain' })) same<typeof one.id, string>(true);
  // @ts-expect-error an unknown status
  duly.jobs({ status: 'DEAD' });

  // Coordination.
  const locked = await duly.lock('nightly', { ttl: '1m' }, async ({ fence }) => ({ fence }));
  same<typeof locked, LockResult<{ fence: number }>>(true);
  if (locked.acquired) same<typeof locked.value, { fence: number }>(true);
  else same<typeof locked.until, Date>(true);
  same<Awaited<ReturnType<typeof sum>>, number>(true);
  async function sum() {
    return duly.once('sum', { for: '1 day' }, () => 42);
  }
  const tokens = duly.expiring<{ user: number }>('tokens', {
    cleanup: ({ input }) => {
      same<typeof input.value, { user: number }>(true);
      same<typeof input.key, string>(true);
    },
  });
  await tokens.put('a', { user: 1 }, { for: '15m' });
  // @ts-expect-error another type of value
  await tokens.put('a', { user: 'x' }, { for: '15m' });
  same<Awaited<ReturnType<typeof tokens.get>>, { user: number } | null>(true);

  duly.on('job.settled', ({ id, status, reason }) => {
    same<typeof id, string>(true);
    void [status, reason];
  });
  // @ts-expect-error an unknown event
  duly.on('job.done', () => {});
}
