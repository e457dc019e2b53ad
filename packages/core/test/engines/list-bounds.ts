/** Lists of a store with more jobs than one look takes: what lies far apart is found, in pages that stay bounded. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Duly, quietLogger } from '../../src/index.ts';

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
    for await (const job of duly.jobs({ task: 'rare' })) found.push(job.id);
    assert.deepEqual(found, [newest.id, oldest.id]);
    const page = await duly.jobs({ task: 'rare' }).page({ limit: 10 });
    assert.deepEqual([page.jobs.length, page.nextCursor], [2, null]);
    assert.equal((await duly.jobs({ tenant: 'a' }).first())?.id, oldest.id);
    assert.equal((await duly.jobs({ input: { n: 1 } }).first())?.id, oldest.id);
    assert.deepEqual(await duly.jobs({ task: 'rare' }).count(), { count: 2, capped: false });
    assert.deepEqual(await duly.jobs({ task: 'common' }).count({ cap: 1_000 }), {
      count: 1_000,
      capped: true,
    });

    const looks = duly.calls()?.list ?? 0;
    const none = await duly.jobs({ error: 'nothing has it' }).page();
    assert.deepEqual([none.jobs, none.nextCursor], [[], null]);
    assert.equal((duly.calls()?.list ?? 0) - looks, 3, 'three looks of 20,000 for 45,002 jobs');
    const all = await duly.jobs().page({ limit: 1_000 });
    assert.equal(all.jobs.length, 1_000);
    const { changed } = await duly.jobs({ task: 'rare' }).cancel();
    assert.equal(changed, 2);
  });
}
