import { type Duly, systemClock } from '@duly/core';
import { createKeys, type KeyInfo, type Keys, keyScopes } from '@duly/server/keys';
import type { CommandContext, CommonOptions } from '../cli/context.ts';
import { didYouMean, readDuration, usageError } from '../cli/usage.ts';
import { terminalActor, withClient } from '../client/client.ts';
import { listJson, printJson } from '../output/json.ts';
import { printTable } from '../output/table.ts';
import { oneLine } from '../output/terminal.ts';
import { relative } from '../output/times.ts';

/** Options of `duly keys add`. */
export interface KeysAddOptions extends CommonOptions {
  scope?: string;
  tenant?: string;
  for?: string;
  note?: string;
}

/** `duly keys ls`. */
export async function keysLs(context: CommandContext, options: CommonOptions): Promise<undefined> {
  await withClient(context, options, async ({ duly, command }) => {
    const list = await keysOf(duly).list();
    if (context.json) {
      printJson(context.out, listJson(list.map(keyJson)));
      return;
    }
    if (list.length === 0) {
      context.err.line(`There are no keys. Create one: ${command('keys add --scope admin')}`);
      return;
    }
    const now = systemClock.now();
    printTable(
      context.out,
      [
        { title: 'ID' },
        { title: 'SCOPE' },
        { title: 'TENANT', widthMin: 8 },
        { title: 'CREATED', align: 'right' },
        { title: 'ENDS', align: 'right' },
        { title: 'NOTE', widthMin: 10, leaveOut: 1 },
      ],
      list.map((key) => [
        key.id,
        key.scope,
        oneLine(key.tenant ?? ''),
        relative(new Date(key.createdAt), now),
        key.expiresAt === null ? '' : relative(new Date(key.expiresAt), now),
        oneLine(key.note ?? ''),
      ]),
    );
  });
}

/** `duly keys add`: the key alone on stdout, for scripts. */
export async function keysAdd(context: CommandContext, options: KeysAddOptions): Promise<undefined> {
  const { scope = 'run', tenant = null, note = null } = options;
  const known = keyScopes.find((one) => one === scope);
  if (known === undefined) {
    throw usageError(
      `Expected --scope to be ${keyScopes.slice(0, -1).join(', ')} or ${keyScopes.at(-1)}, got "${scope.slice(0, 40)}".${didYouMean(scope, keyScopes)}`,
    );
  }
  const forMs = options.for === undefined ? null : readDuration(options.for, '--for');
  await withClient(
    context,
    options,
    async ({ duly }) => {
      const keys = keysOf(duly);
      const { key, ...created } = await keys.create({
        scope: known,
        tenant,
        note,
        expiresAt: forMs === null ? null : systemClock.now() + forMs,
        by: terminalActor(),
      });
      if (context.json) printJson(context.out, { ...keyJson(created), key });
      else {
        context.out.line(key);
        context.err.line('It is shown only this once.');
      }
    },
    { creates: true },
  );
}

/** `duly keys revoke`. */
export async function keysRevoke(
  context: CommandContext,
  options: CommonOptions,
  ids: string[],
): Promise<undefined> {
  await withClient(context, options, async ({ duly }) => {
    const keys = keysOf(duly);
    for (const id of ids) await keys.revoke(idOf(id));
    if (context.json) printJson(context.out, listJson(ids.map((id) => ({ id: idOf(id), revoked: true }))));
    else context.err.line('Revoked; a server that runs takes it for up to 5 s more.');
  });
}

/** The keys of the store, or those of the server that it is asked through. */
function keysOf(duly: Duly): Pick<Keys, 'list' | 'create' | 'revoke'> {
  if ('remoteKeys' in duly) return duly.remoteKeys as Keys;
  return createKeys({ duly, clock: systemClock });
}

/** Whoever gives the whole key means its id. */
function idOf(text: string): string {
  return /^duly_([0-9a-z]{12})_/.exec(text)?.[1] ?? text;
}

function keyJson(key: KeyInfo) {
  const { id, scope, tenant, note, createdAt, createdBy, expiresAt } = key;
  return {
    id,
    scope,
    tenant,
    note,
    created_at: new Date(createdAt).toISOString(),
    created_by: createdBy,
    expires_at: expiresAt === null ? null : new Date(expiresAt).toISOString(),
  };
}
