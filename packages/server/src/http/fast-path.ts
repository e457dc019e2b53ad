import type { IncomingMessage, ServerResponse } from 'node:http';
import { allows, type Scope } from '@duly/core/internal/browser';
import type { Caller } from '../auth/caller.ts';
import { callerOfKey } from '../auth/secured.ts';
import { own, readOwn } from '../auth/tenant.ts';
import { presentCreated, presentJob } from '../jobs/job-presenter.ts';
import { createJob } from '../jobs/new-job.ts';
import { jobEtag, matchesEtag } from '../live/job-tag.ts';
import { parseBody, readIncoming, refuseOtherTypes } from '../request/body.ts';
import { isKnownHost } from '../request/host.ts';
import { invalidRequest } from '../request/issues.ts';
import { standardHeaders } from '../request/standard-headers.ts';
import { newJobSchema } from '../schemas/job.ts';
import type { ServerContext } from './context.ts';
import { problemAnswer } from './problem.ts';

/** Answers a request of Node's own server; false: it is left to the application, untouched. */
export type FastPath = (incoming: IncomingMessage, outgoing: ServerResponse) => boolean;

/** What a request came to. */
interface Answer {
  status: number;
  headers: Record<string, string>;
  body: string | null;
}

const jobId = /^job_[0-9a-z]{1,64}$/;
// With any of these a request may mean more than it seems to; the application knows.
const special = ['cookie', 'idempotency-key', 'origin', 'prefer', 'sec-fetch-site', 'transfer-encoding'];

/**
 * Answers the two most frequent requests, to create a job and to read one, without the framework, which costs as much as all the rest.
 * Only plain requests with a recently checked key; every other request, refusals of keys and hosts included, goes to the application.
 */
export function createFastPath(context: ServerContext): FastPath {
  const { clock, duly, keys, logger, metrics, options, rateLimits } = context;
  const jobsPath = `${options.basePath}/api/jobs`;
  // A client says the same name again and again.
  let knownHost: string | undefined;

  function isPlain({ headers }: IncomingMessage): boolean {
    const { host } = headers;
    if (host === undefined || (host !== knownHost && !hasName(host))) return false;
    knownHost = host;
    return special.every((name) => headers[name] === undefined);
  }

  function hasName(host: string): boolean {
    return options.hosts === 'any' || isKnownHost(host, options.hosts);
  }

  function callerOf({ headers }: IncomingMessage, scope: Scope): Caller | null {
    const { authorization } = headers;
    if (options.authorize !== null || authorization?.startsWith('Bearer ') !== true) return null;
    const key = keys.known(authorization.slice('Bearer '.length));
    if (key === null || !allows(key.scope, scope)) return null;
    const caller = callerOfKey(key);
    return rateLimits?.take(caller.actor) === false ? null : caller;
  }

  async function create(incoming: IncomingMessage, caller: Caller): Promise<Answer> {
    const text = await readIncoming(incoming, options.bodyBytesMax);
    refuseOtherTypes(incoming.headers['content-type']);
    const parsed = newJobSchema.safeParse(parseBody(text));
    if (!parsed.success) throw invalidRequest('json', parsed.error);
    const handle = await createJob(context, caller, parsed.data);
    const job = own(caller, await handle.created());
    return {
      status: handle.deduped ? 200 : 201,
      headers: { Location: `${jobsPath}/${job.id}`, 'Content-Type': 'application/json' },
      body: JSON.stringify(presentCreated(context, caller, job, handle.deduped)),
    };
  }

  async function look(incoming: IncomingMessage, caller: Caller, id: string): Promise<Answer> {
    const job = await readOwn(duly, caller, id);
    const etag = jobEtag(job, options.redact);
    if (matchesEtag(incoming.headers['if-none-match'], etag)) {
      return { status: 304, headers: { ETag: etag }, body: null };
    }
    return {
      status: 200,
      headers: { ETag: etag, 'Content-Type': 'application/json' },
      body: JSON.stringify(presentJob(context, caller, job)),
    };
  }

  async function answer(
    incoming: IncomingMessage,
    outgoing: ServerResponse,
    { route, run }: { route: string; run(): Promise<Answer> },
  ): Promise<void> {
    const sinceElapsed = clock.elapsed();
    const { method = '', url: path = '' } = incoming;
    const { status, headers, body } = await run().catch((error: unknown) =>
      problemAnswer(error, { method, path, logger }),
    );
    metrics.request({ method, route, status, tookMs: clock.elapsed() - sinceElapsed });
    outgoing.writeHead(status, {
      ...standardHeaders,
      ...headers,
      ...(body === null ? {} : { 'Content-Length': Buffer.byteLength(body) }),
    });
    outgoing.end(body ?? undefined);
  }

  return (incoming, outgoing) => {
    const { method, url = '' } = incoming;
    if (method === 'POST' && url === jobsPath) {
      const length = Number(incoming.headers['content-length'] ?? 0);
      if (!(length > 0 && length <= options.bodyBytesMax) || !isPlain(incoming)) return false;
      const caller = callerOf(incoming, 'run');
      if (caller === null) return false;
      const run = () => duly.as(caller.actor, () => create(incoming, caller));
      void answer(incoming, outgoing, { route: '/api/jobs', run });
      return true;
    }
    if (method !== 'GET' || !url.startsWith(`${jobsPath}/`)) return false;
    const id = url.slice(jobsPath.length + 1);
    if (!jobId.test(id) || !isPlain(incoming)) return false;
    const caller = callerOf(incoming, 'read');
    if (caller === null) return false;
    const run = () => look(incoming, caller, id);
    void answer(incoming, outgoing, { route: '/api/jobs/:id', run });
    return true;
  };
}
