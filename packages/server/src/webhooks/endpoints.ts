import {
  type Clock,
  type Duly,
  DulyError,
  isDulyError,
  type StoredRecord,
  type TerminalStatus,
} from '@duly/core';
import { callbacksRecord } from '@duly/core/internal';
import { randomText } from '../auth/keys.ts';

/** An endpoint as it is kept: where it is, and what it wants to hear of. */
export interface EndpointValue {
  url: string;
  note: string | null;
  /** Whose it is: it hears only of this tenant's jobs; null: of all. */
  tenant: string | null;
  /** Only of these types; null: of all. */
  types: readonly string[] | null;
  /** Only of jobs of the schedules with these names; null: of all jobs. */
  schedules: readonly string[] | null;
  /** Only of these ends; null: of all. */
  statuses: readonly TerminalStatus[] | null;
  isEnabled: boolean;
  /** Why nothing is sent to it although it is there; null: something is, or a person disabled it. */
  disabledReason: string | null;
  createdAt: number;
  createdBy: string;
}

/** An endpoint. */
export interface Endpoint extends EndpointValue {
  id: string;
}

/** The endpoints of one store. */
export interface Endpoints {
  list(): Promise<Endpoint[]>;
  /** Throws `webhook_not_found`. */
  get(id: string): Promise<Endpoint>;
  create(value: EndpointValue): Promise<Endpoint>;
  /** Changes it, whatever somebody else changed meanwhile. Throws `webhook_not_found`. */
  change(id: string, change: (value: EndpointValue) => EndpointValue): Promise<Endpoint>;
  delete(id: string): Promise<void>;
  /** Whether jobs have addresses of their own to tell. */
  hasCallbacks(): Promise<boolean>;
}

const endpointKind = 'webhook';
const pageSize = 500;
const idPrefix = 'wh_';
const idLength = 12;

/** Makes them over a Duly's records. */
export function createEndpoints({ duly }: { duly: Duly; clock: Clock }): Endpoints {
  const endpoints: Endpoints = {
    async list() {
      const found: Endpoint[] = [];
      for (let after: string | null = null; ; ) {
        const page: StoredRecord<EndpointValue>[] = await duly.records.list(endpointKind, {
          after,
          limit: pageSize,
        });
        found.push(...page.map(toEndpoint));
        if (page.length < pageSize) return found;
        after = (page.at(-1) as StoredRecord).key;
      }
    },

    async get(id) {
      return toEndpoint(await read(id));
    },

    async create(value) {
      const id = `${idPrefix}${randomText(idLength)}`;
      return toEndpoint(await duly.records.put(endpointKind, id, value, { expectVersion: null }));
    },

    async change(id, change) {
      for (;;) {
        const record = await read(id);
        try {
          const value = change(record.value);
          return toEndpoint(
            await duly.records.put(endpointKind, id, value, { expectVersion: record.version }),
          );
        } catch (error) {
          if (!isDulyError(error, 'records_conflict')) throw error;
        }
      }
    },

    async delete(id) {
      if (!(await duly.records.delete(endpointKind, id))) throw notFound(id);
    },

    hasCallbacks: async () => (await duly.records.get(callbacksRecord.kind, callbacksRecord.key)) !== null,
  };

  async function read(id: string): Promise<StoredRecord<EndpointValue>> {
    const record = await duly.records.get<EndpointValue>(endpointKind, id);
    if (record === null) throw notFound(id);
    return record;
  }

  return endpoints;
}

function toEndpoint({ key: id, value }: StoredRecord<EndpointValue>): Endpoint {
  return { id, ...value };
}

/** The error for an endpoint that is not there, or is not the caller's. */
export function notFound(id: string): DulyError {
  return new DulyError('webhook_not_found', {
    message: `No webhook has the id "${id.slice(0, 100)}".`,
    details: { id: id.slice(0, 100) },
  });
}
