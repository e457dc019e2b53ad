import { type Role, roles } from '@duly/core';
import type { CommandContext } from '../cli/context.ts';
import { didYouMean, readList, usageError } from '../cli/usage.ts';
import { createNodeDuly } from '../node/node-duly.ts';
import { runNode } from '../node/run-node.ts';
import { greet, type NodeCommandOptions, readStart } from './up.ts';

/** `duly worker`: a node with the user's tasks, and no demo. */
export async function worker(
  context: CommandContext,
  options: NodeCommandOptions & { roles?: string[]; allowCommands?: boolean },
): Promise<number> {
  const start = readStart(options);
  const chosen = readRoles(options.roles);
  const allowCommands = options.allowCommands === true;
  const node = await createNodeDuly(context, {
    ...options,
    demo: 'never',
    withoutTasks: allowCommands || !chosen.includes('worker'),
    allowCommands,
  });
  return runNode(node.duly, context, {
    start: { ...start, roles: chosen },
    quiet: options.quiet === true,
    async onStarted({ node: id, lines }) {
      await greet(context, node, id, lines);
    },
  });
}

function readRoles(texts: string[] | undefined): Role[] {
  const words = readList(texts, '--roles');
  if (words === undefined) return [...roles];
  return words.map((word) => {
    if ((roles as readonly string[]).includes(word)) return word as Role;
    throw usageError(
      `Expected --roles to be some of ${roles.join(', ')}, got "${word.slice(0, 40)}".`,
      didYouMean(word, roles).trim() || undefined,
    );
  });
}
