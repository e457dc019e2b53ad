/**
 * The seam between a process's main thread and the thread of its store, seen from outside: every verb that is asked and every answer. Here
 * a chaos run writes its history and takes a process down at a named point. The product knows nothing of it.
 */
import { Worker } from 'node:worker_threads';
import type { EngineVerb } from '../../packages/core/src/contract/engine.ts';
import type { FromThread, ToThread } from '../../packages/core/src/store/thread/messages.ts';
import { unpackInput, unpackReply } from '../../packages/core/src/store/thread/packed.ts';

/** What is told at the seam, always before the message goes on. */
export interface SeamListener {
  /** A verb is about to be asked. */
  asked(verb: EngineVerb, input: never): void;
  /** The store has done it; nobody in this process knows yet. */
  answered(verb: EngineVerb, input: never, reply: never): void;
  /** The store refused. */
  failed(verb: EngineVerb, code: string | null): void;
  /** An attempt's beginning is about to be written. */
  beginning(): void;
  /** An attempt's beginning is written; its handler was not entered yet. */
  begun(): void;
}

/** Listens at the seam of every store that this process opens from now on. */
export function watchStoreSeam(listener: SeamListener): void {
  const calls = new Map<Worker, Map<number, { verb: EngineVerb; input: never }>>();
  const { postMessage, emit } = Worker.prototype;

  Worker.prototype.postMessage = function (this: Worker, message: ToThread, ...rest: never[]) {
    if (message?.kind === 'call') {
      const input = unpackInput(message.verb, message.input) as never;
      listener.asked(message.verb, input);
      const open = calls.get(this) ?? new Map();
      calls.set(this, open.set(message.id, { verb: message.verb, input }));
    }
    if (message?.kind === 'heartbeats-begin') listener.beginning();
    return postMessage.call(this, message, ...rest);
  };

  Worker.prototype.emit = function (this: Worker, name: string, ...args: never[]) {
    if (name === 'message') onNotification(this, args[0] as unknown as FromThread);
    return emit.call(this, name, ...args);
  } as typeof emit;

  function onNotification(worker: Worker, message: FromThread): void {
    if (message?.kind === 'begun') listener.begun();
    if (message?.kind === 'delivered') {
      const { claim, reply } = message.delivered;
      listener.answered('exchange', { settle: [], claim } as never, unpackReply('exchange', reply) as never);
    }
    if (message?.kind === 'returned')
      listener.answered('exchange', { settle: message.settle, claim: null } as never, message.reply as never);
    if (message?.kind === 'claim-failed') listener.failed('exchange', message.error.code);
    if (message?.kind !== 'reply' && message?.kind !== 'error') return;
    const open = calls.get(worker);
    const call = open?.get(message.id);
    if (call === undefined) return;
    open?.delete(message.id);
    if (message.kind === 'reply')
      listener.answered(call.verb, call.input, unpackReply(call.verb, message.reply as object) as never);
    else listener.failed(call.verb, message.error.code);
  }
}
