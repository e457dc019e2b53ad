import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';

/** A folder of a test's own, removed after it. */
export function testFolder(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'duly-sqlite-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}
