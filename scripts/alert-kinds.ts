// What is written from the list of alert kinds, packages/server/src/alerts/rules/index.ts: the kinds that the dashboard offers, because a browser
// cannot load the server, and the table of the guide. Run by `npm run generate`; `npm run check` compares.

import { readFileSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { formatDuration } from '../packages/core/src/index.ts';
import type { AlertField, AnyAlertKind } from '../packages/server/src/alerts/alert-kind.ts';
import { alertKinds } from '../packages/server/src/alerts/rules/index.ts';
import { readIfExists } from './embed-sql.ts';
import { type Problem, root } from './source-text.ts';

const guide = 'docs/guides/alerts.md';
const table = /(<!-- alert kinds: .*-->\n)[\s\S]*?(?=<!-- \/alert kinds -->)/;

/** The kinds for the dashboard, as TypeScript. */
export function renderDashboardKinds(kinds: readonly AnyAlertKind[]): string {
  const shown = kinds.map(({ kind, title, describe, fields }) => ({
    kind,
    title,
    describe,
    fields: Object.values(fields).map(({ json, label, type, default: value }) => ({
      name: json,
      label,
      isDuration: type === 'duration',
      default: value,
    })),
  }));
  return `// Written by \`npm run generate\` from packages/server/src/alerts/rules. Do not edit.\n\n/** Every kind of alert rule. */\nexport const alertKinds = ${JSON.stringify(shown, null, 2)} as const;\n`;
}

/** The guide with its table rewritten. */
export function rewriteGuide(text: string, kinds: readonly AnyAlertKind[]): string {
  const rows = kinds.map(({ kind, describe, fields }) => {
    const defaults = Object.values(fields).map((field) => `\`${field.json}\` ${defaultText(field)}`);
    return `| [\`${kind}\`](#${kind}) | ${describe.replace(/\{(\w+)\}/g, '`$1`')} | ${defaults.join(', ')} |\n`;
  });
  return text.replace(
    table,
    (_, open: string) => `${open}\n| rule | fires when | default |\n|---|---|---|\n${rows.join('')}\n`,
  );
}

function defaultText({ type, default: value }: AlertField): string {
  return type === 'duration' ? formatDuration(value) : String(value);
}

/** The files with their texts. */
export function generateAlertKinds(): { path: string; text: string }[] {
  const path = join(root, guide);
  return [
    {
      path: join(root, 'packages/dashboard/src/pages/alerts/generated.ts'),
      text: renderDashboardKinds(alertKinds),
    },
    { path, text: rewriteGuide(readFileSync(path, 'utf8'), alertKinds) },
  ];
}

/** Files that differ from the list. */
export function findStaleAlertKinds(): Problem[] {
  return generateAlertKinds()
    .filter(({ path, text }) => readIfExists(path) !== text)
    .map(({ path }) => ({
      path: relative(root, path),
      line: 1,
      message: 'lists other alert kinds than packages/server/src/alerts/rules. Run: npm run generate',
    }));
}

if (import.meta.main) {
  for (const { path, text } of generateAlertKinds()) {
    if (readIfExists(path) === text) continue;
    writeFileSync(path, text);
    console.log(`wrote ${relative(root, path)}`);
  }
}
