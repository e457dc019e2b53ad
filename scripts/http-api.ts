// What is made from the server's routes: the reference, and the types of the client. Run by `npm run generate`; `npm run check` compares.

import { writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { readIfExists } from './embed-sql.ts';
import { readHttpDocument } from './http-document.ts';
import { renderHttpReference } from './http-reference.ts';
import { renderHttpTypes } from './http-types.ts';
import { type Problem, root } from './source-text.ts';

/** The files with their texts. */
export function generateHttp(): { path: string; text: string }[] {
  const document = readHttpDocument();
  return [
    { path: join(root, 'docs/reference/http.md'), text: renderHttpReference(document) },
    { path: join(root, 'packages/server/src/client/generated.ts'), text: renderHttpTypes(document) },
  ];
}

/** Files that are not what the routes say. */
export function findStaleHttp(): Problem[] {
  return generateHttp()
    .filter(({ path, text }) => readIfExists(path) !== text)
    .map(({ path }) => ({
      path: relative(root, path),
      line: 1,
      message: "differs from the server's routes. Run: npm run generate",
    }));
}

if (import.meta.main) {
  for (const { path, text } of generateHttp()) {
    writeFileSync(path, text);
    console.log(`wrote ${relative(root, path)}`);
  }
}
