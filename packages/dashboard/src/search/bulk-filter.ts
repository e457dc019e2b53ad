import { readJobSearch } from './job-search.ts';

/** A search as the body of a bulk action has it: values at paths of the input in one object, numbers and words as JSON reads them. */
export function bulkFilterOf(text: string): Record<string, unknown> {
  const filter: Record<string, unknown> = {};
  const input: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(readJobSearch(text).query)) {
    if (name.startsWith('input.')) input[name.slice('input.'.length)] = readValue(value as string);
    else if (name === 'dead') filter['dead'] = value === 'true';
    else if (name === 'ids') filter['ids'] = [value].flat();
    else filter[name] = value;
  }
  if (Object.keys(input).length > 0) filter['input'] = input;
  return filter;
}

function readValue(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? text : value;
  } catch {
    return text;
  }
}
