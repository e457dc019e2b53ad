import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { propertySeed } from '../../../../test/property.ts';
import { jobEtag } from '../../src/live/job-tag.ts';
import { startServer } from '../fixture.ts';

const redact = {
  input: ['card.number', 'people.*.name', 'list.1', 'deep', 'odd\\name.x'],
  result: ['token'],
  metadata: ['note'],
};

/** Numbers from 0 up to 1 that a seed repeats (mulberry32). */
function seededRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 0x100000000;
  };
}

/** An input whose hidden leaves hold this value; everything else is the same in all of them. */
const inputWith = (value: unknown) => ({
  card: { number: value, Number: 1, brand: 'x' },
  people: [
    { name: value, age: 1 },
    { name: value, age: 2 },
  ],
  list: [0, value, 2],
  deep: { er: { x: value }, 0: value },
  'odd\\name': { x: value, y: 1 },
  plain: { number: 3 },
});

async function setup(t: TestContext) {
  const fixture = await startServer(t, {
    tasks: [{ name: 'pay', run: () => ({ token: 'x' }) }],
    server: { redact, allowTargets: ['127.0.0.1'] },
  });
  const reader = await fixture.key('read');
  const operator = await fixture.key('operate');
  /** The ids that a filter finds; null: it was refused as a bad request. Anything else fails the test. */
  const found = async (path: string, value: unknown): Promise<string[] | null> => {
    const query = new URLSearchParams({ type: 'pay', [`input.${path}`]: JSON.stringify(value) });
    const answers = await Promise.all([
      fixture.ask(`/api/jobs?${query}`, { key: reader }),
      fixture.ask(`/api/dead?${query}`, { key: reader }),
      fixture.ask('/api/jobs/bulk', {
        key: operator,
        body: { action: 'cancel', dry_run: true, filter: { type: 'pay', input: { [path]: value } } },
      }),
    ]);
    for (const { status, text } of answers) assert.ok(status === 200 || status === 400, `${path}: ${text}`);
    const [list, , bulk] = answers;
    if (list?.status !== 200) return null;
    const ids = list.json.data.map(({ id }: { id: string }) => id);
    if (bulk?.status === 200) assert.equal(bulk.json.changed, ids.length, path);
    return ids.sort();
  };
  return { ...fixture, reader, operator, found };
}

test('a path that is spelt another way does not find a hidden value, and none is answered 500', async (t) => {
  const { duly, found } = await setup(t);
  await duly.taskNamed('pay').in('1h', inputWith(4711));
  for (const path of [
    'card.number',
    'card.n\\u0075mber',
    'card.\\u006eumber',
    'c\\u0061rd.number',
    'card.number\\',
    '\\',
    'card.\\',
    '"',
    'card."number"',
    'card["number"]',
    '$.card.number',
    'list.1',
    'list.01',
    'list.+1',
    'list.-2',
    'list[1]',
    'list.4294967297',
    'list.#-2',
    'people.0.name',
    'people.00.name',
    'people.-1.name',
    'deep.er.x',
    'deep.0',
    'deep',
    'odd\\name.x',
    'odd\\\\name.x',
    'odd\\u005cname.x',
    'card',
    'people',
  ]) {
    const ids = await found(path, 4711);
    assert.ok(ids === null || ids.length === 0, `${path} found the hidden value`);
  }
  assert.equal((await found('odd\\name.y', 1))?.length, 1);
  assert.equal((await found('card.Number', 1))?.length, 1);
});

test('no answer to a random filter depends on a hidden value', async (t) => {
  const seed = propertySeed;
  const random = seededRandom(seed);
  const pick = <Item>(items: readonly Item[]): Item => items[Math.floor(random() * items.length)] as Item;
  const { duly, found } = await setup(t);
  const values = [0, 1, 7, '7', true, null, 'x'];
  const ids = await Promise.all(
    values.map(async (value) => (await duly.taskNamed('pay').in('1h', inputWith(value))).id),
  );
  ids.sort();
  const names = [
    'card',
    'number',
    'Number',
    'brand',
    'people',
    'name',
    'age',
    'list',
    'deep',
    'er',
    'x',
    'y',
    'odd\\name',
    'plain',
    '0',
    '1',
    '2',
    '*',
    '',
  ];
  const known = [
    'card.number',
    'people.0.name',
    'people.1.name',
    'list.1',
    'deep.er.x',
    'deep.0',
    'odd\\name.x',
    'card.brand',
    'plain.number',
    'list.0',
  ];
  const escaped = (text: string): string => {
    const at = Math.floor(random() * text.length);
    const code = text.charCodeAt(at).toString(16).padStart(4, '0');
    return text === '' ? '\\' : `${text.slice(0, at)}\\u${code}${text.slice(at + 1)}`;
  };
  const twists: ((step: string) => string)[] = [
    (step) => step,
    (step) => step,
    escaped,
    (step) => step.toUpperCase(),
    (step) => `0${step}`,
    (step) => `+${step}`,
    (step) => `-${step}`,
    (step) => `"${step}"`,
    (step) => `[${step}]`,
    (step) => `${step}\\`,
    (step) => `\\${step}`,
    (step) => step.replaceAll('\\', '\\\\'),
    (step) => (/^\d$/.test(step) ? String(2 ** 32 + Number(step)) : step),
    (step) => (/^\d$/.test(step) ? String(2n ** 64n + BigInt(step)) : `${step}"."${step}`),
  ];
  let answered = 0;
  for (let i = 0; i < 250; i++) {
    const base =
      random() < 0.7
        ? pick(known).split('.')
        : Array.from({ length: 1 + Math.floor(random() * 3) }, () => pick(names));
    const path = base.map((step) => (random() < 0.5 ? pick(twists)(step) : step)).join('.');
    if (path === '') continue;
    const value = pick(values);
    const matches = await found(path, value);
    if (matches === null) continue;
    answered += 1;
    // All jobs are alike but for what is hidden: a filter that finds some and not others tells them apart.
    assert.ok(
      matches.length === 0 || matches.length === ids.length,
      `seed ${seed}: ${JSON.stringify(path)} = ${JSON.stringify(value)} found ${matches.length} of ${ids.length}`,
    );
  }
  assert.ok(answered > 50, `${answered} filters were answered`);
});

test('an ETag does not depend on a hidden value', async (t) => {
  const { duly } = await setup(t);
  const { id } = await duly.taskNamed('pay').in('1h', inputWith('4711'), { metadata: { note: 'a' } });
  const job = await duly.job(id).get();
  const etag = jobEtag(job, redact);
  assert.equal(jobEtag({ ...job, input: inputWith('4712'), metadata: { note: 'b' } }, redact), etag);
  assert.notEqual(jobEtag({ ...job, input: { ...inputWith('4711'), plain: 4 } }, redact), etag);
});
