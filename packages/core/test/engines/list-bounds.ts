/** Lists of a store with more jobs than one look takes: what lies far apart is found, in pages that stay bounded. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Duly, type JobPage, type JobsFilter } from '../../src/index.ts';
import { quietLogger } from '../../src/internal.ts';

/** The test, for a store of one's own. */
export function listBounds(kind: string, newStore: (t: { after(fn: () => void): void }) => string): void {
  test(`${kind}: a filter that matches little looks at a bounded part of the store at a time`, async (t) => {
    const duly = new Duly({ store: newStore(t), logger: quietLogger });
    t.after(() => duly.stop());
    const common = duly.task({ name: 'common', run: () => {} });
    const rare = duly.task({ name: 'rare', run: () => {} });
    const oldest = await rare.in('1h', { n: 1 }, { tenant: 'a' });
    // More than two looks, so that the second of them finds nothing at all.
    for (let i = 0; i < 5; i++)
      await common.inMany(
        '1h',
        Array.from({ length: 9_000 }, () => 0),
      );
    const newest = await rare.in('1h', { n: 2 });

    const found: string[] = [];
    for await (const job of duly.jobs({ type: 'rare' })) found.push(job.id);
    assert.deepEqual(found, [newest.id, oldest.id]);
    const page = await duly.jobs({ type: 'rare' }).page({ limit: 10 });
    assert.deepEqual([page.jobs.length, page.nextCursor], [2, null]);
    assert.equal((await duly.jobs({ tenant: 'a' }).first())?.id, oldest.id);
    assert.equal((await duly.jobs({ input: { n: 1 } }).first())?.id, oldest.id);
    assert.deepEqual(await duly.jobs({ type: 'rare' }).count(), { count: 2, capped: false });
    assert.deepEqual(await duly.jobs({ type: 'common' }).count({ cap: 1_000 }), {
      count: 1_000,
      capped: true,
    });

    const looks = duly.calls()?.list ?? 0;
    const none = await duly.jobs({ error: 'nothing has it' }).page();
    assert.deepEqual([none.jobs, none.nextCursor], [[], null]);
    assert.equal((duly.calls()?.list ?? 0) - looks, 3, 'three looks of 20,000 for 45,002 jobs');
    const all = await duly.jobs().page({ limit: 1_000 });
    assert.equal(all.jobs.length, 1_000);
    const { changed } = await duly.jobs({ type: 'rare' }).cancel();
    assert.equal(changed, 2);
    // Behind 45,000 that wait, and behind no more than there are of them.
    const before = duly.calls()?.list ?? 0;
    assert.deepEqual((await duly.jobs({ status: 'CANCELLED' }).page()).jobs.length, 2);
    assert.deepEqual((await duly.jobs({ status: 'RUNNING' }).page()).jobs, []);
    assert.deepEqual((await duly.jobs({ status: 'BLOCKED' }).page()).jobs, []);
    assert.equal((duly.calls()?.list ?? 0) - before, 3, 'one look each');
  });

  test(`${kind}: every filter goes on behind its first page, and finds each job once`, async (t) => {
    const duly = new Duly({ store: newStore(t), logger: quietLogger });
    t.after(() => duly.stop());
    const failing = duly.task({
      name: 'failing',
      retry: 1,
      run: () => {
        throw new Error('it fails');
      },
    });
    const ids: string[] = [];
    const parent = duly.task({
      name: 'parent',
      run: async () => {
        const options = { tenant: 'a', queue: 'q', serial: 's', dedupe: { key: 'k' } };
        for (let n = 0; n < 5; n++) {
          const child = await failing.now({ n }, options);
          ids.push(child.id);
          // The key is held until then.
          await child.wait();
        }
      },
    });
    const heartbeat = duly.task({ name: 'heartbeat', run: () => {} });
    const { id: schedule } = await heartbeat.every({ rate: '1h' }, undefined, { name: 'hourly' });
    await duly.start();
    const created = await parent.now();
    await created.wait();
    const runs: string[] = [];
    for (let n = 0; n < 3; n++) {
      const { job } = await duly.schedules.trigger('hourly');
      await job?.wait();
      runs.push(job?.id as string);
    }
    const all: Record<string, JobsFilter> = {
      ids: { ids },
      status: { status: 'FAILED' },
      type: { type: 'failing' },
      queue: { queue: 'q' },
      tenant: { tenant: 'a' },
      'tenant and type': { tenant: 'a', type: 'failing' },
      key: { key: 'k' },
      serial: { serial: 's' },
      parent: { parent: created.id },
      since: { since: new Date(0), type: 'failing' },
      before: { before: '2100-01-01T00:00:00Z', type: 'failing' },
      error: { error: 'it FAILS' },
      input: { input: { n: 3 } },
      dead: { dead: true },
      schedule: { schedule },
    };
    for (const [name, filter] of Object.entries(all)) {
      const found: string[] = [];
      let cursor: string | null = null;
      do {
        const page: JobPage = await duly.jobs(filter).page({ limit: 2, cursor });
        found.push(...page.jobs.map(({ id }) => id));
        cursor = page.nextCursor;
      } while (cursor !== null);
      const wanted = name === 'input' ? [ids[3]] : (name === 'schedule' ? runs : ids).toReversed();
      assert.deepEqual(found, wanted, name);
      assert.deepEqual(await duly.jobs(filter).count(), { count: wanted.length, capped: false }, name);
      // A page of one, also where an index leads to the rest.
      assert.equal(
        (await duly.jobs(filter).page({ limit: 1, cursor: `after:${found[0]}` })).jobs[0]?.id,
        wanted[1],
        name,
      );
    }
  });
}
