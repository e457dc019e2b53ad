import type { CommandContext, CommonOptions } from '../cli/context.ts';
import { listJson, printJson } from '../output/json.ts';
import { printTable } from '../output/table.ts';
import { profileOf, profilesPath, readProfiles, writeProfiles } from '../remote/profiles.ts';
import { addressOf } from '../remote/server.ts';
import { readStdin } from './run.ts';

/** `duly profiles ls`. Keys are not shown. */
export async function profilesLs({ out, err, json }: CommandContext): Promise<undefined> {
  const { used, servers } = readProfiles();
  const list = Object.entries(servers).map(([name, { url, key }]) => ({
    name,
    url,
    has_key: key !== null,
    used: name === used,
  }));
  if (json) printJson(out, listJson(list));
  else if (list.length === 0) err.line(`There are no profiles in ${profilesPath()}.`);
  else {
    printTable(
      out,
      [{ title: '' }, { title: 'NAME' }, { title: 'SERVER' }, { title: 'KEY' }],
      list.map((one) => [one.used ? '*' : '', one.name, one.url, one.has_key ? 'yes' : 'no']),
    );
  }
}

/** `duly profiles add`: the key from an option, the environment, or stdin. */
export async function profilesAdd(
  context: CommandContext,
  options: CommonOptions,
  name: string,
  url: string,
): Promise<undefined> {
  const profiles = readProfiles();
  const given = options.serverKey === '-' ? (await readStdin()).trim() : options.serverKey;
  const key = given ?? process.env.DULY_KEY ?? null;
  profiles.servers[name] = { url: addressOf(url), key: key === '' ? null : key };
  writeProfiles(profiles);
  report(context, { name, url, has_key: key !== null }, `Stored in ${profilesPath()}, for this user only.`);
}

/** `duly profiles use`; without a name none is used. */
export async function profilesUse(
  context: CommandContext,
  _options: CommonOptions,
  name?: string,
): Promise<undefined> {
  const profiles = readProfiles();
  if (name !== undefined) profileOf(profiles, name);
  writeProfiles({ ...profiles, used: name ?? null });
  report(
    context,
    { used: name ?? null },
    name === undefined
      ? 'No profile is used: commands go to the store.'
      : `Commands go to "${name}", unless they name a store.`,
  );
}

/** `duly profiles rm`. */
export async function profilesRm(
  context: CommandContext,
  _options: CommonOptions,
  name: string,
): Promise<undefined> {
  const profiles = readProfiles();
  profileOf(profiles, name);
  const { [name]: _gone, ...servers } = profiles.servers;
  writeProfiles({ used: profiles.used === name ? null : profiles.used, servers });
  report(context, { name, removed: true }, `"${name}" is gone.`);
}

function report({ out, err, json }: CommandContext, fields: object, sentence: string): void {
  if (json) printJson(out, fields);
  else err.line(sentence);
}
