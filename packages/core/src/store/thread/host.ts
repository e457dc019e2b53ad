/**
 * The store's thread: holds the engine's connection, runs its verbs, and renews leases. It keeps doing so while a
 * handler blocks the main loop.
 */
import { parentPort, receiveMessageOnPort, workerData } from 'node:worker_threads';
import { systemClock } from '../../base/clock.ts';
import { toPlainError } from '../../base/errors.ts';
import { systemRandom } from '../../base/random.ts';
import type {
  AcquireInput,
  AcquireReply,
  ClaimedJob,
  ClaimRequest,
  Engine,
  EngineVerb,
  ExchangeReply,
  Notification,
  Settlement,
} from '../../contract/engine.ts';
import { NotificationSet } from '../../contract/notifications.ts';
import {
  createHeartbeats,
  type Heartbeats,
  heldLeaseOf,
  type LeaseRef,
  sinceClaimMs,
  stallMsMax,
} from '../heartbeats.ts';
import { openEngine } from '../open-engine.ts';
import { createLeaseBoard, type LeaseBoard } from '../shared-leases.ts';
import { createLockHost, type LockHost } from './lock-host.ts';
import type { FromThread, ToThread } from './messages.ts';
import { packReply, unpackInput } from './packed.ts';
import { createParkedClaims, type ParkedClaims } from './parked-claims.ts';
import { createUnstarted, type Unstarted } from './unstarted.ts';

const port = parentPort as NonNullable<typeof parentPort>;
const post = (message: FromThread) => port.postMessage(message);
const { url } = workerData as { url: string };

/** The leases of one worker. */
interface WorkerLeases {
  heartbeats: Heartbeats;
  board: LeaseBoard;
  unstarted: Unstarted;
}

const workers = new Map<number, WorkerLeases>();
const workersByNode = new Map<string, WorkerLeases>();

/** When the ping that is still unanswered was sent, by the monotonic clock; null: none is. */
let pingElapsed: number | null = null;

/** How long the main loop has not turned, as far as pings tell. */
function sinceTurnMs(): number {
  if (pingElapsed !== null) return systemClock.elapsed() - pingElapsed;
  pingElapsed = systemClock.elapsed();
  post({ kind: 'ping' });
  return 0;
}

let parked: ParkedClaims;
let locks: LockHost;
/** Whether the engine is being called this moment: a notification that it gives now is of what is not answered yet. */
let isInside = false;
/** Its notification of jobs, which waits for the answer. */
const notifiedInside = new NotificationSet();

try {
  const engine = await openEngine(url);
  parked = openParkedClaim(engine);
  locks = createLockHost({
    engine,
    clock: systemClock,
    isHolderAlive: () => sinceTurnMs() <= stallMsMax,
    onLost: (token) => post({ kind: 'lock-lost', token }),
  });
  port.on('message', (message: ToThread) => {
    void serve(engine, message);
  });
  post({ kind: 'open', info: engine.info() });
} catch (error) {
  post({ kind: 'refused', error: toPlainError(error) });
}

async function serve(engine: Engine, message: ToThread): Promise<void> {
  switch (message.kind) {
    case 'call':
      await answer(message.id, async () => {
        const input = unpackInput(message.verb, message.input);
        const askedElapsed = systemClock.elapsed();
        const reply = await call(engine, message.verb, input as LeaseCall);
        followLeases(input as LeaseCall, reply, askedElapsed);
        return packReply(message.verb, reply);
      });
      for (const notification of notifiedInside.takeAll()) notify(notification);
      break;
    case 'soon':
      linger(engine);
      break;
    case 'probe':
      await answer(message.id, () => engine.probe());
      break;
    case 'listen':
      engine.subscribe((notification) => {
        // In this thread: a main loop that is blocked now must not start cancelled jobs when it turns again.
        if (notification.kind === 'cancel') for (const { heartbeats } of workers.values()) heartbeats.check();
        if (notification.kind !== 'jobs') post({ kind: 'notification', notification, nodes: [] });
        else if (isInside) notifiedInside.addAll([notification]);
        else notify(notification);
      });
      break;
    case 'watch-transaction':
      engine.watchTransaction?.(message.watched);
      break;
    case 'close':
      for (const one of workers.keys()) closeLeases(one);
      locks.closeAll();
      await answer(message.id, () => engine.close());
      port.close();
      break;
    case 'pong':
      pingElapsed = null;
      break;
    case 'heartbeats-open':
      openHeartbeats(engine, message);
      break;
    case 'heartbeats-drop':
      dropLeases(message.leases);
      break;
    case 'heartbeats-check':
      workers.get(message.heartbeats)?.heartbeats.check();
      break;
    case 'heartbeats-close':
      closeLeases(message.heartbeats);
      break;
    case 'heartbeats-begin':
      await begin(message);
      break;
    case 'parked-open':
      parked.open(message.node, message.delivered);
      break;
    case 'parked-close':
      await answer(message.id, () => parked.close(message.node));
      break;
    case 'lock-open':
      locks.open(message.token, message.renewed);
      break;
    case 'lock-resume':
      locks.resume(message.token, message.renewed, message.lock);
      break;
    case 'lock-close':
      locks.close(message.token);
      break;
  }
}

/** Calls a verb; a claim that goes with it takes the place of the one that stands. */
async function call(engine: Engine, verb: EngineVerb, input: LeaseCall | AcquireInput): Promise<object> {
  const claim = ('claim' in input ? input.claim : null) ?? null;
  if (claim !== null) parked.begin(claim);
  let reply: object | null = null;
  const askedElapsed = systemClock.elapsed();
  try {
    isInside = true;
    const answered = (engine[verb] as (input: unknown) => Promise<object>)(input);
    isInside = false;
    reply = await answered;
    // At once: the main loop may be blocked for longer than the lock lives.
    if (verb === 'acquire') locks.answered(input as AcquireInput, reply as AcquireReply, askedElapsed);
    return reply;
  } finally {
    isInside = false;
    if (claim !== null) parked.end(claim, verb === 'exchange' ? (reply as ExchangeReply | null) : null);
  }
}

/** There may be jobs. A worker that sleeps is not asked first: its claim is here. */
function notify(notification: Notification): void {
  // Told before: the worker's thread wakes while the store is asked, and not after.
  parked.use(notification, (nodes) => post({ kind: 'notification', notification, nodes }));
}

function openParkedClaim(engine: Engine): ParkedClaims {
  return createParkedClaims({
    engine,
    clock: systemClock,
    random: systemRandom,
    onDelivered({ reply, ...delivered }) {
      followLeases({ claim: delivered.claim }, reply, systemClock.elapsed() - delivered.tookMs);
      post({
        kind: 'delivered',
        delivered: { ...delivered, reply: packReply('exchange', reply) as ExchangeReply },
      });
    },
    onFailed: (claim, error, tookMs) =>
      post({ kind: 'claim-failed', claim, error: toPlainError(error), tookMs }),
    onNotTaken: dropLeases,
    onReturned: (settle, reply) => post({ kind: 'returned', settle, reply }),
  });
}

// As long as a call takes to be checked and written out, with caches that went cold, and twice that.
const lingerMs = 0.2;

/**
 * Stays awake for the message that comes next, for a moment. To wake a thread that sleeps takes as long as to make the call ready, and so
 * both are done at once.
 */
function linger(engine: Engine): void {
  const untilElapsed = systemClock.elapsed() + lingerMs;
  do {
    const next = receiveMessageOnPort(port);
    if (next === undefined) continue;
    void serve(engine, next.message as ToThread);
    return;
  } while (systemClock.elapsed() < untilElapsed);
}

/** The part of a call that gives leases or ends them. */
interface LeaseCall {
  settle?: Settlement[];
  claim?: ClaimRequest | null;
  repeat?: boolean;
}

/**
 * Drops leases that were settled, and holds those that were given from that moment on: a main loop that is blocked just then hears of
 * them, and could hold them, too late.
 */
function followLeases(
  { settle, claim, repeat }: LeaseCall,
  { claimed, now }: { claimed?: ClaimedJob[]; now?: number },
  askedElapsed: number,
): void {
  if (settle !== undefined && settle.length > 0) dropLeases(settle);
  const [first] = claimed ?? [];
  if (!claim || claimed === undefined || first === undefined) return;
  const worker = workersByNode.get(claim.node);
  if (worker === undefined) return;
  worker.heartbeats.hold(
    claimed.map(heldLeaseOf),
    askedElapsed - (repeat === true ? sinceClaimMs(first, now) : 0),
  );
  worker.unstarted.watch();
}

function dropLeases(leases: LeaseRef[]): void {
  for (const { heartbeats, board } of workers.values()) {
    heartbeats.drop(leases);
    for (const { fence } of leases) board.remove(fence);
  }
}

function closeLeases(which: number): void {
  workers.get(which)?.heartbeats.close();
  workers.get(which)?.unstarted.close();
  workers.delete(which);
}

async function answer(id: number, call: () => Promise<unknown>): Promise<void> {
  try {
    post({ kind: 'reply', id, reply: await call() });
  } catch (error) {
    post({ kind: 'error', id, error: toPlainError(error) });
  }
}

function openHeartbeats(engine: Engine, message: Extract<ToThread, { kind: 'heartbeats-open' }>): void {
  const { node, shared, heartbeatMs } = message;
  const { leaseMs } = shared;
  const board = createLeaseBoard(shared);
  const heartbeats = createHeartbeats({
    engine,
    clock: systemClock,
    random: systemRandom,
    node,
    leaseMs,
    heartbeatMs,
    sinceTurnMs,
    board,
    onHeartbeat: (news) => post({ kind: 'heartbeat', heartbeats: message.heartbeats, news }),
    onError: (error) =>
      post({ kind: 'heartbeats-error', heartbeats: message.heartbeats, error: toPlainError(error) }),
  });
  const unstarted = createUnstarted({
    engine,
    clock: systemClock,
    board,
    sinceTurnMs,
    // Their slots on the board stay taken until the main thread has seen that it must not start them.
    onTaken: (leases) => heartbeats.drop(leases),
    onReleased: (settle, reply) => post({ kind: 'returned', settle, reply }),
  });
  const worker = { heartbeats, board, unstarted };
  workers.set(message.heartbeats, worker);
  workersByNode.set(node, worker);
}

async function begin({
  heartbeats: which,
  id,
  lease,
}: Extract<ToThread, { kind: 'heartbeats-begin' }>): Promise<void> {
  try {
    const state = (await workers.get(which)?.heartbeats.begin(lease)) ?? 'lost';
    post({ kind: 'begun', id, state });
  } catch (error) {
    post({ kind: 'error', id, error: toPlainError(error) });
  }
}
