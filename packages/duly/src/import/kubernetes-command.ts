// What the container of a CronJob runs.

import { hazardsOf, unknownFields } from './kubernetes-hazards.ts';
import { type Fields, isFields, kindOf, listOf, textOf, unreadable } from './kubernetes-manifests.ts';
import { templatesOf } from './kubernetes-policies.ts';
import type { CommandInput } from './shell-command.ts';

/** How the container of a CronJob becomes a command. */
export const containerRuns = ['command', 'docker'] as const;
/** One of them. */
export type ContainerRun = (typeof containerRuns)[number];

interface Variable {
  name: string;
  /** null: it comes from a secret, a config map or the pod. */
  value: string | null;
}

/** The variables of a container; a value may name those above it. */
function variablesOf(container: Fields): Variable[] {
  const known: Record<string, string> = {};
  return listOf(container, 'env').map((one) => {
    const name = isFields(one) ? textOf(one, 'name') : null;
    if (name === null) throw unreadable('One of its variables has no name.');
    const { value, valueFrom } = one as Fields;
    if (valueFrom !== undefined && valueFrom !== null) return { name, value: null };
    known[name] = expand(String(value ?? ''), known);
    return { name, value: known[name] };
  });
}

/** The command that the container of a CronJob becomes. */
export function commandOf(
  spec: Fields,
  run: ContainerRun,
): { command: CommandInput['command']; hazards: string[] } {
  const { job, pod } = templatesOf(spec);
  const containers = listOf(pod, 'containers');
  const [container] = containers;
  if (container === undefined) throw unreadable('It has no container.');
  if (!isFields(container))
    throw unreadable(`Its first container is ${kindOf(container)}, and no map of fields.`);
  const variables = variablesOf(container);
  const env = Object.fromEntries(
    variables.flatMap(({ name, value }) => (value === null ? [] : [[name, value]])),
  );
  const words = (name: 'command' | 'args'): string[] =>
    listOf(container, name).map((word) => expand(String(word), env));
  const image = textOf(container, 'image');
  const cwd = textOf(container, 'workingDir');
  const argv = [...words('command'), ...words('args')];
  const secrets = variables.filter(({ value }) => value === null).map(({ name }) => name);
  const hazards = [
    ...hazardsOf({ container, image, secrets, containerCount: containers.length, pod, job, run }),
    ...unknownFields(spec, job),
  ];
  if (run === 'docker') {
    if (image === null) throw unreadable('Its container has no image.');
    const [entry, ...rest] = words('command');
    const options = [
      ...Object.entries(env).flatMap(([name, value]) => ['-e', `${name}=${value}`]),
      ...(cwd === null ? [] : ['-w', cwd]),
      ...(entry === undefined ? [] : ['--entrypoint', entry]),
    ];
    const all = ['docker', 'run', '--rm', ...options, image, ...rest, ...words('args')];
    return { command: { argv: all, placeholders: false, stdin: '' }, hazards };
  }
  if (words('command').length === 0) {
    throw unreadable(
      `Its container has no "command": what it runs is written in the image ${image ?? ''}.`,
      'Write the command into the manifest, or use --run docker.',
    );
  }
  const hasEnv = Object.keys(env).length > 0;
  return {
    command: {
      argv,
      placeholders: false,
      stdin: '',
      ...(hasEnv ? { env } : {}),
      ...(cwd === null ? {} : { cwd }),
    },
    hazards,
  };
}

/** `$(NAME)` of the container's own variables, as Kubernetes does it; `$$(NAME)` stays. */
function expand(text: string, env: Record<string, string>): string {
  return text.replace(/\$\$|\$\(([A-Za-z_][\w.-]*)\)/g, (whole, name?: string) =>
    whole === '$$' ? '$' : name !== undefined && Object.hasOwn(env, name) ? (env[name] as string) : whole,
  );
}
