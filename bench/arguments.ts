import { parseArgs } from 'node:util';
import { joinNegatives } from '../proof/arguments.ts';

/** What the run was asked for. */
export interface BenchArguments {
  engine: string;
  /** Everything smaller. */
  isQuick: boolean;
  /** Names of measures; null: all. */
  only: string[] | null;
  /** Without peers, and so without the bench's own install. */
  hasPeers: boolean;
  rounds: number | null;
  /** How many future jobs the full store holds. */
  futureCount: number | null;
  /** How long the sustained load lasts. */
  minutes: number | null;
  /** File for the JSON; null: one in `bench/results`. */
  out: string | null;
  /** Folder for CPU profiles of Duly's processes; null: none are made. */
  profile: string | null;
  isHelp: boolean;
}

const minutesMax = 60;

/** An argument that cannot be understood. */
export class ArgumentError extends Error {}

/** How to call it. */
export const usage = `npm run bench -- [options]

  --engine NAME     the store: sqlite (default), postgres
  --quick           everything smaller: some two minutes, more with peers or on a busy machine
  --only A,B        only these measures
  --server          the HTTP API under load: the same as --only server --no-peers
  --no-peers        only Duly and bare; needs no install
  --rounds N        how often each contestant takes its turn (default 3, quick 1)
  --future N        future jobs in the full store (default 1,000,000; quick 30,000)
  --minutes N       how long the sustained load lasts (default 1; at most 60)
  --out FILE        where the JSON goes (default bench/results/<engine>-<time>.json)
  --profile FOLDER  writes CPU profiles of Duly's processes there
  -h, --help        says this
`;

const options = {
  engine: { type: 'string', default: 'sqlite' },
  quick: { type: 'boolean', default: false },
  only: { type: 'string' },
  server: { type: 'boolean', default: false },
  'no-peers': { type: 'boolean', default: false },
  rounds: { type: 'string' },
  future: { type: 'string' },
  minutes: { type: 'string' },
  out: { type: 'string' },
  profile: { type: 'string' },
  help: { type: 'boolean', short: 'h', default: false },
} as const;

/** Reads the arguments of a run. Throws `ArgumentError`. */
export function readArguments(
  argv: readonly string[],
  known: { engines: readonly string[]; measures: readonly string[] },
): BenchArguments {
  let values: Record<string, string | boolean | undefined>;
  try {
    ({ values } = parseArgs({ args: joinNegatives(argv, options), options }));
  } catch (error) {
    throw new ArgumentError((error as Error).message);
  }
  const engine = values.engine as string;
  if (!known.engines.includes(engine)) {
    throw new ArgumentError(`Expected --engine to be one of ${known.engines.join(', ')}, got "${engine}".`);
  }
  const isServer = values.server as boolean;
  if (isServer && values.only !== undefined) {
    throw new ArgumentError('Expected --server or --only, not both: --server means --only server.');
  }
  const named = isServer ? 'server' : (values.only as string | undefined);
  const only = named === undefined ? null : named.split(',').filter((name) => name !== '');
  if (only?.length === 0) {
    throw new ArgumentError(`Expected --only to name some of ${known.measures.join(', ')}, got "${named}".`);
  }
  for (const name of only ?? []) {
    if (!known.measures.includes(name)) {
      throw new ArgumentError(`Expected --only to name some of ${known.measures.join(', ')}, got "${name}".`);
    }
  }
  return {
    engine,
    isQuick: values.quick as boolean,
    only,
    hasPeers: !isServer && !(values['no-peers'] as boolean),
    rounds: readCount(values.rounds as string | undefined, 'rounds'),
    futureCount: readCount(values.future as string | undefined, 'future'),
    minutes: readCount(values.minutes as string | undefined, 'minutes', minutesMax),
    out: (values.out as string | undefined) ?? null,
    profile: (values.profile as string | undefined) ?? null,
    isHelp: values.help as boolean,
  };
}

function readCount(text: string | undefined, name: string, max = Number.MAX_SAFE_INTEGER): number | null {
  if (text === undefined) return null;
  const count = Number(text.replaceAll(/[_,]/g, ''));
  if (Number.isSafeInteger(count) && count >= 1 && count <= max) return count;
  const range = max === Number.MAX_SAFE_INTEGER ? 'from 1 up' : `from 1 to ${max}`;
  throw new ArgumentError(`Expected --${name} to be a whole number ${range}, got "${text}".`);
}
