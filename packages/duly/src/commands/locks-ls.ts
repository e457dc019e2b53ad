import type { LockKind } from '@duly/core';
import type { CommandContext, CommonOptions } from '../cli/context.ts';
import { readLimit } from '../cli/usage.ts';
import { withClient } from '../client/client.ts';
import { listJson, printJson } from '../output/json.ts';
import { printTable } from '../output/table.ts';
import { oneLine } from '../output/terminal.ts';
import { rough } from '../output/times.ts';

interface LocksLsOptions extends CommonOptions {
  kind?: string;
  prefix?: string;
  limit?: string;
  cursor?: string;
}

/** `duly locks ls`. */
export async function locksLs(context: CommandContext, options: LocksLsOptions): Promise<undefined> {
  const limit = readLimit(options.limit);
  await withClient(context, options, async ({ duly }) => {
    const { locks, nextCursor } = await duly.locks.list({
      ...(options.kind === undefined ? {} : { kind: options.kind as LockKind }),
      ...(options.prefix === undefined ? {} : { prefix: options.prefix }),
      ...{ limit, cursor: options.cursor ?? null },
    });
    if (context.json) {
      const data = locks.map(({ kind, name, fence, holder, until, ttlMs }) => ({
        ...{ kind, name, fence, holder },
        ...{ until_at: until.toISOString(), ttl_ms: ttlMs },
      }));
      printJson(context.out, listJson(data, nextCursor));
      return;
    }
    if (locks.length === 0) {
      context.err.line('No lock is held.');
      return;
    }
    printTable(
      context.out,
      [
        { title: 'KIND' },
        { title: 'NAME', widthMin: 12 },
        { title: 'HOLDER', widthMin: 12 },
        { title: 'ENDS', align: 'right' },
        { title: 'FENCE', align: 'right', leaveOut: 1 },
      ],
      locks.map(({ kind, name, fence, holder, ttlMs }) => [
        kind,
        oneLine(name),
        oneLine(`${holder.node} on ${holder.host}:${holder.pid}`),
        `in ${rough(ttlMs)}`,
        String(fence),
      ]),
    );
    if (nextCursor !== null)
      context.err.line(
        context.err.paint(
          'dim',
          `There are more: the same command with --cursor ${JSON.stringify(nextCursor)}`,
        ),
      );
  });
}
