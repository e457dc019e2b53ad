import { formatInstant } from '../base/instant.ts';
import { snakeName } from '../base/snake-case.ts';
import type { DeclaredTask } from '../jobs/task-definition.ts';
import type { ScheduleDefinition } from './definition/definition.ts';

/** A definition as `POST /api/schedules` takes it and `duly schedules export` writes it: snake case, instants as texts. */
export type DefinitionJson = Record<string, unknown>;

/** The definition of a schedule as JSON. */
export function toDefinitionJson({ type, name, ...rest }: ScheduleDefinition): DefinitionJson {
  return { ...(name === undefined ? {} : { name }), type, ...outerSnake(rest) };
}

/** What a task says of its jobs, as JSON. */
export function toDeclaredTaskJson({ name, ...rest }: DeclaredTask): Record<string, unknown> {
  return { type: name, ...outerSnake(rest) };
}

/** The definition that such a JSON stands for; what is wrong with it is told by whoever is given it. */
export function fromDefinitionJson({ type, ...rest }: DefinitionJson): ScheduleDefinition {
  const fields = Object.entries(rest).map(([field, value]) => [
    camelName(field),
    field === 'retry' && isObject(value) ? renamed(value, camelName) : value,
  ]);
  return { type, ...Object.fromEntries(fields) } as ScheduleDefinition;
}

/** Outer names only: what is inside is the same in both, or the user's own. The retry policy alone has a name of two words. */
function outerSnake(fields: object): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(fields)
      .filter(([, value]) => value !== undefined)
      .map(([field, value]) => [
        snakeName(field),
        field === 'retry' && isObject(value)
          ? renamed(value, snakeName)
          : instants.has(field)
            ? instantText(value)
            : value,
      ]),
  );
}

const instants = new Set(['startAt', 'endAt']);

function instantText(value: unknown): unknown {
  if (value instanceof Date) return formatInstant(value.getTime());
  return typeof value === 'number' ? formatInstant(value) : value;
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function renamed(value: object, nameOf: (name: string) => string): Record<string, unknown> {
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [nameOf(name), one]));
}

function camelName(name: string): string {
  return name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
}
