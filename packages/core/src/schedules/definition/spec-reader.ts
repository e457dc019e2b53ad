import type { JsonText } from '../../contract/engine.ts';
import { parseSpec, type ScheduleSpec } from './spec.ts';

/** A spec that was read, cut where others like it differ. */
interface Template {
  spec: ScheduleSpec;
  /** The text before the tenant, between tenant and input, and behind the input. */
  before: string;
  between: string;
  behind: string;
}

/** What no spec says, to find out where a place in its text is. */
const probe = '\u0000probe';

/** Cuts a text where its tenant and its input stand; null: they stand somewhere else than in a spec that was written by this code. */
function templateOf(text: JsonText, spec: ScheduleSpec): Template | null {
  const { tenant, input } = spec.job;
  const tenantText = JSON.stringify(tenant);
  const inputText = JSON.stringify(input);
  const tenantFrom = text.indexOf(`"tenant":${tenantText}`) + '"tenant":'.length;
  const inputFrom = text.lastIndexOf(`"input":${inputText}`) + '"input":'.length;
  const template: Template = {
    spec,
    before: text.slice(0, tenantFrom),
    between: text.slice(tenantFrom + tenantText.length, inputFrom),
    behind: text.slice(inputFrom + inputText.length),
  };
  // The words may stand in a text of the user's as well: put something else there, and see what changes.
  const probed = JSON.stringify(probe);
  try {
    const { job } = parseSpec(`${template.before}${probed}${template.between}${probed}${template.behind}`);
    return job?.tenant === probe && job.input === probe ? template : null;
  } catch {
    return null;
  }
}

/** What a piece of JSON says, if it is a text or null. */
function literalOf(json: string): string | null | undefined {
  try {
    const value: unknown = JSON.parse(json);
    return typeof value === 'string' || value === null ? value : undefined;
  } catch {
    return undefined;
  }
}

/** The spec in a text that differs from the template's in nothing but tenant and input; null: it differs in more. */
function readLike({ spec, before, between, behind }: Template, text: JsonText): ScheduleSpec | null {
  if (!text.startsWith(before) || !text.endsWith(behind)) return null;
  // Its quotes are not escaped, so it cannot stand inside the tenant.
  const betweenFrom = text.indexOf(between, before.length);
  const inputFrom = betweenFrom + between.length;
  const inputTo = text.length - behind.length;
  if (betweenFrom === -1 || inputFrom > inputTo) return null;
  const tenant = literalOf(text.slice(before.length, betweenFrom));
  const input = literalOf(text.slice(inputFrom, inputTo));
  if (tenant === undefined || input === undefined || input === null) return null;
  return { ...spec, job: { ...spec.job, tenant, input } };
}

/**
 * Makes a reader of stored specs. Ten thousand tenants have ten thousand schedules of one kind: of a spec that differs from the last one in nothing
 * but tenant and input only these two are read, and it shares all else with the last. `onRead` may make a spec that was read whole its own first.
 */
export function createSpecReader(
  onRead: (spec: ScheduleSpec) => void = () => {},
): (text: JsonText) => ScheduleSpec {
  let template: Template | null = null;
  return (text) => {
    const alike = template === null ? null : readLike(template, text);
    if (alike !== null) return alike;
    const spec = parseSpec(text);
    onRead(spec);
    template = templateOf(text, spec);
    return spec;
  };
}
