import type { Engine, EngineVerb, Reply, WatchedTransaction } from '../../contract/engine.ts';
import { mapVerbs } from '../../contract/verbs.ts';
import { createUserTransactionOpener } from '../open-user-transaction.ts';
import type { Store } from '../store.ts';
import { packInput, unpackReply } from './packed.ts';
import { StoreThread, type ThreadNews } from './store-thread.ts';
import { ThreadClaims } from './thread-claims.ts';
import { ThreadHeartbeats } from './thread-heartbeats.ts';
import { ThreadLocks } from './thread-locks.ts';
import { ThreadNotifications } from './thread-notifications.ts';

/**
 * Opens a store in a thread of its own. The thread does not keep the process alive while nothing is asked of it. One that ends by itself, of
 * something that nobody foresaw, is followed by another: a node must never stay up with a store that is gone for good.
 */
export async function openThreadStore(url: string): Promise<Store> {
  const heartbeats = new ThreadHeartbeats(() => thread);
  const claims = new ThreadClaims(() => thread);
  const locks = new ThreadLocks(() => thread);
  const notifications = new ThreadNotifications(() => thread);
  const thread: StoreThread = await StoreThread.open(url, { receive, restarted });
  const { info } = thread;

  function receive(news: ThreadNews): void {
    switch (news.kind) {
      case 'notification':
        claims.using(news.nodes, () => notifications.deliver(news.notification));
        break;
      case 'delivered':
        claims.deliver(news.delivered);
        break;
      case 'claim-failed':
        claims.failed(news);
        break;
      case 'heartbeat':
      case 'heartbeats-error':
        heartbeats.received(news);
        break;
      case 'lock-lost':
        locks.lost(news.token);
        break;
    }
  }

  function restarted(): void {
    heartbeats.resume();
    locks.resume();
    claims.resume();
    notifications.resume();
  }

  const watchTransaction = (watched: WatchedTransaction): void => {
    if (!thread.isEnded) thread.post({ kind: 'watch-transaction', watched });
  };

  const call = (verb: EngineVerb) => async (input: object) => {
    const packed = packInput(verb, input);
    const reply = await thread.ask<object>((id) => ({ kind: 'call', id, verb, input: packed }));
    return unpackReply(verb, reply) as Reply;
  };

  const engine: Engine = {
    ...mapVerbs(call),
    info: () => info,
    subscribe: (listener) => notifications.subscribe(listener),
    // In this thread, where the user's connection is; what is to be told afterwards goes to the store's.
    userTransaction: createUserTransactionOpener(url, info, watchTransaction),
    watchTransaction,
    probe: () => thread.ask((id) => ({ kind: 'probe', id })),
    close: () => thread.close(),
  };

  return {
    engine,
    createHeartbeats: (options) => heartbeats.open(options),
    openParkedClaim: (options) => claims.open(options),
    locks,
    expect: () => thread.expect(),
  };
}
