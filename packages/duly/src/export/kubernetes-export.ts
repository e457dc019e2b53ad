import { type OverlapMode, parseDuration, type Schedule } from '@duly/core';
import { commandTaskName, shadowTaskName } from '@duly/core/internal';
import { stringify } from 'yaml';
import { usageError } from '../cli/usage.ts';
import { definitionAnnotation } from '../import/kubernetes-schedule.ts';
import type { CommandInput } from '../import/shell-command.ts';
import { oneLine } from '../output/terminal.ts';
import { annotationOf, unsayable } from './cron-only.ts';

const concurrency: Record<OverlapMode, string> = {
  allow: 'Allow',
  skip: 'Forbid',
  cancelOther: 'Replace',
  terminateOther: 'Replace',
  // Nothing in Kubernetes waits; the annotation keeps what it was.
  bufferOne: 'Forbid',
  bufferAll: 'Forbid',
};
const nameLengthMax = 52;

/** Manifests of CronJobs that do what schedules do. A schedule that no CronJob can say becomes a comment with the reason. Throws `usage` where an image is needed and none was given. */
export function manifestsOf(
  schedules: readonly Schedule[],
  { image, now }: { image: string | null; now: number },
): string {
  const names = new Set<string>();
  const documents = schedules.map((schedule) => {
    const reason = unsayable(schedule, now, 'a CronJob');
    if (reason !== null) return `# ${oneLine(schedule.name)}: ${oneLine(schedule.words)} (${reason})\n`;
    return `# ${oneLine(schedule.words)}\n${stringify(manifestOf(schedule, freeName(schedule.name, names), image))}`;
  });
  return documents.join('---\n');
}

function manifestOf(schedule: Schedule, name: string, image: string | null): object {
  const { definition, rule, timezone, policies, paused } = schedule;
  const { overlap, startDeadlineMs } = policies;
  const attempts = attemptsOf(definition.retry);
  const container = containerOf(schedule, image);
  return {
    apiVersion: 'batch/v1',
    kind: 'CronJob',
    metadata: { name, annotations: { [definitionAnnotation]: JSON.stringify(annotationOf(schedule)) } },
    spec: {
      schedule: rule.cron,
      timeZone: timezone,
      // A newer server may have a mode that is not in the list.
      concurrencyPolicy: concurrency[overlap] ?? 'Forbid',
      ...(startDeadlineMs === null
        ? {}
        : { startingDeadlineSeconds: Math.max(1, Math.ceil(startDeadlineMs / 1_000)) }),
      suspend: paused !== null,
      jobTemplate: {
        spec: {
          backoffLimit: attempts - 1,
          ...(definition.timeout === 'none'
            ? {}
            : {
                activeDeadlineSeconds: Math.ceil(
                  parseDuration(definition.timeout ?? '1h', 'timeout') / 1_000,
                ),
              }),
          template: { spec: { restartPolicy: 'Never', containers: [{ name: 'run', ...container }] } },
        },
      },
    },
  };
}

function attemptsOf(retry: unknown): number {
  if (typeof retry === 'number') return retry;
  return (retry as { attempts?: number } | undefined)?.attempts ?? 3;
}

/** What the pod runs: the command itself, its own image where `docker run` names one, or a job of the task. */
function containerOf({ type, input, name }: Schedule, image: string | null): object {
  if (type !== commandTaskName && type !== shadowTaskName) {
    const words = ['duly', 'run', type, ...(input === null ? [] : [JSON.stringify(input)])];
    return { image: needImage(image, name), command: words };
  }
  const { argv, env = {}, cwd } = (input as CommandInput).command;
  const docker = dockerRunOf(argv);
  const variables = Object.entries(docker?.env ?? env).map(([one, value]) => ({ name: one, value }));
  return {
    image: docker?.image ?? needImage(image, name),
    ...(docker === null ? { command: argv } : docker.command),
    ...(variables.length === 0 ? {} : { env: variables }),
    ...((docker?.cwd ?? cwd) === undefined ? {} : { workingDir: docker?.cwd ?? cwd }),
  };
}

function needImage(image: string | null, name: string): string {
  if (image !== null) return image;
  throw usageError(
    `A CronJob needs an image, and "${name}" names none.`,
    'Give --image with one that has what the schedules run: --image registry.example.com/app:1',
  );
}

/** What `docker run` as an import writes it runs; null: it is something else. */
function dockerRunOf(
  argv: readonly string[],
): { image: string; command: object; env: Record<string, string>; cwd: string | undefined } | null {
  if (argv.slice(0, 3).join(' ') !== 'docker run --rm') return null;
  const rest = argv.slice(3);
  const env: Record<string, string> = {};
  let cwd: string | undefined;
  let entry: string | undefined;
  for (; rest[0]?.startsWith('-'); rest.splice(0, 2)) {
    const [option, value = ''] = rest;
    if (option === '-e') env[value.slice(0, value.indexOf('='))] = value.slice(value.indexOf('=') + 1);
    else if (option === '-w') cwd = value;
    else if (option === '--entrypoint') entry = value;
    else return null;
  }
  const [image, ...args] = rest;
  if (image === undefined) return null;
  const command = entry === undefined ? (args.length === 0 ? {} : { args }) : { command: [entry, ...args] };
  return { image, command, env, cwd };
}

/** Names of Kubernetes are lower case, with hyphens, and short. */
function freeName(name: string, taken: Set<string>): string {
  const base =
    name
      .toLowerCase()
      .replace(/[^a-z0-9]+/g, '-')
      .slice(0, nameLengthMax - 4)
      .replace(/^-+|-+$/g, '') || 'schedule';
  let free = base;
  for (let n = 2; taken.has(free); n++) free = `${base}-${n}`;
  taken.add(free);
  return free;
}
