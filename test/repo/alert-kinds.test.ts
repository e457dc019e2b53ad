// A new kind of alert rule is its file, its entry in rules/index.ts and its section of the guide. Everything else derives from the list.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import type { AnyAlertKind } from '../../packages/server/src/alerts/alert-kind.ts';
import { alertKinds } from '../../packages/server/src/alerts/rules/index.ts';
import { findStaleAlertKinds, renderDashboardKinds, rewriteGuide } from '../../scripts/alert-kinds.ts';
import { readHttpDocument, type Schema } from '../../scripts/http-document.ts';
import { readPackageSources, root } from '../../scripts/source-text.ts';

const kinds: readonly AnyAlertKind[] = alertKinds;
const names = kinds.map(({ kind }) => kind);
const guide = readFileSync(join(root, 'docs/guides/alerts.md'), 'utf8');

test('the generated list of the dashboard and the table of the guide are fresh', () => {
  assert.deepEqual(findStaleAlertKinds(), []);
});

test('a kind that is added to the list is in the dashboard and in the table of the guide', () => {
  const added: AnyAlertKind = {
    ...{ kind: 'too_quiet', title: 'Too few jobs', describe: 'fewer than {below} jobs came in {window}' },
    fields: {
      below: { json: 'below', type: 'integer', default: 1, min: 1, label: 'Fewer than' },
      windowMs: { json: 'window', type: 'duration', default: 3_600_000, label: 'Within' },
    },
    collect: async () => null,
    evaluate: () => [],
  };
  assert.match(renderDashboardKinds([...kinds, added]), /"kind": "too_quiet"[\s\S]*"name": "below"/);
  assert.ok(
    rewriteGuide(guide, [...kinds, added]).includes(
      '| [`too_quiet`](#too_quiet) | fewer than `below` jobs came in `window` | `below` 1, `window` 1 h |\n',
    ),
  );
});

test('every kind has a section in the guide, in the order of the list', () => {
  const sections = [...guide.matchAll(/^### `(\w+)`\n\n(.+)/gm)];
  assert.deepEqual(
    sections.map(([, kind]) => kind),
    names,
  );
});

test('every kind with its fields is in the OpenAPI document', () => {
  const schemas = readHttpDocument().components?.schemas ?? {};
  const created = new Map(
    (schemas.NewAlertRule?.oneOf ?? []).map((schema) => [
      kindOf(schema),
      Object.keys(schema.properties ?? {}),
    ]),
  );
  assert.deepEqual([...created.keys()], names);
  assert.deepEqual(schemas.AlertRule?.properties?.kind?.enum, names);
  for (const { kind, fields } of kinds) {
    for (const { json } of Object.values(fields)) {
      assert.ok(created.get(kind)?.includes(json), `${kind} is created with "${json}"`);
      assert.ok(schemas.AlertRule?.properties?.[json], `a rule shows "${json}"`);
      assert.ok(schemas.AlertRuleChange?.properties?.[json], `a rule is changed by "${json}"`);
    }
  }
});

function kindOf({ properties }: Schema): unknown {
  return properties?.kind?.const ?? properties?.kind?.enum?.[0];
}

test('kinds have names of their own, and their fields fit together', () => {
  assert.equal(new Set(names).size, names.length);
  // Fields that every rule has.
  const taken = new Set(['id', 'kind', 'enabled', 'for', 'types', 'channels']);
  const isDuration = new Map<string, boolean>();
  for (const { kind, describe, fields } of kinds) {
    const own = Object.values(fields);
    const described = [...describe.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
    assert.deepEqual(
      described.toSorted(),
      own.map(({ json }) => json).toSorted(),
      `${kind} describes each field`,
    );
    for (const { json, type } of own) {
      assert.ok(!taken.has(json), `${kind} has a field "${json}", as every rule has`);
      assert.equal(
        type === 'duration',
        isDuration.get(json) ?? type === 'duration',
        `"${json}" has one meaning`,
      );
      isDuration.set(json, type === 'duration');
    }
  }
});

/** Files that spell the name of a kind for another reason. */
const exceptions: Readonly<Record<string, string>> = {
  'packages/core/src/schedules/planner/plan-state.ts': 'waiting, a field of the state of a schedule',
  'packages/core/src/schedules/schedule-json.ts': 'failures_in_row, the field of a schedule',
  'packages/core/src/worker/exchange-replies.ts': 'waiting, a method of the outbox',
  'packages/dashboard/src/pages/schedule.tsx': 'failures_in_row, the field of a schedule',
  'packages/duly/src/remote/from-json.ts': 'failures_in_row, the field of a schedule',
  'packages/server/src/schemas/schedule.ts': 'failures_in_row, the field of a schedule',
};

test('no file of a package spells a kind besides its own', () => {
  // A kind of one word is found in quotes only: "waiting" is a word of other things too.
  const spelled = new RegExp(
    names.map((name) => (name.includes('_') ? `\\b${name}\\b` : `['"\`]${name}['"\`]`)).join('|'),
  );
  const found = readPackageSources()
    .filter(
      ({ path }) =>
        !path.startsWith('packages/server/src/alerts/rules/') &&
        // The tests of engines have nothing to do with alerts.
        !path.startsWith('packages/conformance/') &&
        !path.endsWith('/generated.ts'),
    )
    .filter(({ text }) => spelled.test(text))
    .map(({ path }) => path);
  assert.deepEqual(found, Object.keys(exceptions));
});
