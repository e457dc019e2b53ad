// Manifests of Kubernetes, read out of YAML, and their fields.

import { DulyError } from '@duly/core';
import { isAlias, parseAllDocuments } from 'yaml';
import type { LeftOutManifest } from './kubernetes-plan.ts';

/** The fields of a manifest, or of a part of one. */
export type Fields = Record<string, unknown>;

/** The manifests of a file. */
export function manifestsOf(source: string, text: string, leftOut: LeftOutManifest[]): Fields[] {
  const manifests: Fields[] = [];
  const report = (reason: string): void =>
    void leftOut.push({ source, name: '', kind: 'unreadable', reason });
  const documents = parseAllDocuments(text, { merge: true });
  for (const document of Array.isArray(documents) ? documents : []) {
    const [error] = document.errors;
    if (error !== undefined) report(`It is no YAML: ${error.message.split('\n')[0]}`);
    else if (!isAlias(document.contents)) {
      try {
        manifests.push(...manifestsIn(document.toJS({ maxAliasCount: 100 }), report));
      } catch (cause) {
        // An alias without its anchor, or aliases of aliases without end.
        report(`It is no YAML: ${(cause as Error).message}.`);
      }
    }
  }
  return manifests;
}

/** The manifests of a document: itself, or what its list holds. */
function manifestsIn(value: unknown, report: (reason: string) => void): Fields[] {
  if (value === null || value === undefined) return [];
  if (!isFields(value)) {
    report(`Expected a map of fields, got ${kindOf(value)}.`);
    return [];
  }
  if (!Array.isArray(value.items)) return [value];
  return value.items.flatMap((item) => {
    if (item === null) report('An item of its list is empty.');
    return manifestsIn(item, report);
  });
}

/** Whether a value has fields. */
export function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The kind of a manifest. */
export function kindOf(value: unknown): string {
  return Array.isArray(value)
    ? 'a list'
    : typeof value === 'object'
      ? 'a map'
      : `"${String(value).slice(0, 40)}"`;
}

/** The fields below a name; what is left out has none. */
export function fieldsOf(parent: Fields, name: string): Fields {
  const value = parent[name] ?? {};
  if (isFields(value)) return value;
  throw unreadable(`Its "${name}" is ${kindOf(value)}, and no map of fields.`);
}

/** A list below a name; what is left out is empty. */
export function listOf(parent: Fields, name: string): unknown[] {
  const value = parent[name] ?? [];
  if (Array.isArray(value)) return value;
  throw unreadable(`Its "${name}" is ${kindOf(value)}, and no list.`);
}

/** A text below a name; null: it is left out. */
export function textOf(parent: Fields, name: string): string | null {
  const value = parent[name] ?? null;
  if (value === null || typeof value === 'string') return value;
  throw unreadable(`Its "${name}" is ${kindOf(value)}, and no text.`, `Write it in quotes.`);
}

/** Yes or no below a name; a text like "true" is neither, as Kubernetes has it too. */
export function flagOf(parent: Fields, name: string): boolean {
  const value = parent[name] ?? false;
  if (typeof value === 'boolean') return value;
  throw unreadable(
    `Its "${name}" is ${kindOf(value)}, and neither true nor false.`,
    'Write it without quotes.',
  );
}

/** A count of a manifest. */
export function count(value: unknown, field: string, min = 0): number | null {
  if (value === undefined || value === null) return null;
  if (typeof value === 'number' && Number.isInteger(value) && value >= min) return value;
  throw unreadable(`Its "${field}" is ${kindOf(value)}, and no whole number from ${min} up.`);
}

/** The error for a manifest that cannot be read. */
export function unreadable(message: string, hint?: string): DulyError {
  return new DulyError('crontab_unreadable', { message, ...(hint === undefined ? {} : { hint }) });
}
