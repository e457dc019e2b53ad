// What faults.test.ts runs on a file system of its own. Prints one line of JSON.
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { jobSpec } from '@duly/conformance/builders';
import { isDulyError } from '../../../src/base/errors.ts';
import { openStore } from '../../../src/store/thread/open-store.ts';

const [scenario, folder] = process.argv.slice(2) as [string, string];
const path = join(folder, 'duly.db');

async function codeOf(call: () => Promise<unknown>): Promise<string | null> {
  try {
    await call();
    return null;
  } catch (error) {
    return isDulyError(error) ? error.code : String(error);
  }
}

async function full(): Promise<object> {
  const ballast = join(folder, 'ballast');
  const { engine } = await openStore(`sqlite:${path}`);
  writeFileSync(ballast, Buffer.alloc(1_000_000));
  const accepted: string[] = [];
  let code: string | null = null;
  while (code === null) {
    const spec = jobSpec({ input: JSON.stringify('x'.repeat(20_000)) });
    code = await codeOf(() => engine.enqueue({ groups: [{ jobs: [spec] }] }));
    if (code === null) accepted.push(spec.id);
  }
  rmSync(ballast);
  const acceptedAfterwards =
    (await codeOf(() => engine.enqueue({ groups: [{ jobs: [jobSpec()] }] }))) === null;
  const { jobs } = await engine.get({ ids: accepted });
  await engine.close();
  const db = new DatabaseSync(path);
  const { integrity_check: integrity } = db.prepare('PRAGMA integrity_check').get() as {
    integrity_check: string;
  };
  db.close();
  const present = jobs.filter((job) => job !== null).length;
  return { code, accepted: accepted.length, present, acceptedAfterwards, integrity };
}

async function create(): Promise<object> {
  await (await openStore(`sqlite:${path}`)).engine.close();
  return {};
}

async function readOnly(): Promise<object> {
  return { code: await codeOf(() => openStore(`sqlite:${path}`)) };
}

const scenarios: Record<string, () => Promise<object>> = { full, create, 'read-only': readOnly };
process.stdout.write(`${JSON.stringify(await scenarios[scenario]?.())}\n`);
