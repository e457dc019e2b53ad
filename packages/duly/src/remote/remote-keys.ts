// The keys of a server, asked of it over HTTP.

import { fromJson } from './from-json.ts';
import type { RemoteCalls } from './remote-schedules.ts';

/** Lists, creates and revokes keys. */
export function createRemoteKeys({ call, data }: Pick<RemoteCalls, 'call' | 'data'>) {
  return {
    list: async () => (await data('GET /api/keys')).map((one) => keyFromJson(one as KeyJson)),
    async create({ scope, tenant, note, expiresAt }: CreatedKeyOptions) {
      const body = {
        ...{ scope, tenant },
        ...(note === null ? {} : { note }),
        ...(expiresAt === null ? {} : { expires_at: new Date(expiresAt).toISOString() }),
      };
      const created = await call('POST /api/keys', { body: body as never });
      return { ...keyFromJson(created as KeyJson), key: created.key };
    },
    revoke: (id: string) => call('DELETE /api/keys/{id}', { path: { id } }),
  };
}

interface KeyJson {
  created_at: string;
  expires_at: string | null;
}

interface CreatedKeyOptions {
  scope: string;
  tenant: string | null;
  note: string | null;
  expiresAt: number | null;
}

/** A key as `@duly/server/keys` tells it: instants as numbers. */
function keyFromJson(json: KeyJson): object {
  return {
    ...fromJson<object>(json),
    createdAt: Date.parse(json.created_at),
    expiresAt: json.expires_at === null ? null : Date.parse(json.expires_at),
  };
}
