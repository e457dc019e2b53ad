import type { Evidence, Valued } from '../history.ts';
import { show } from './facts.ts';
import type { Invariant } from './invariant.ts';

interface Value {
  text: string | null;
  expiresAt: number;
  cleanupId: string | null;
}

const patienceMs = 1_000;

/** See `promise`. */
export const valuesExpire: Invariant = {
  name: 'values-expire',
  promise:
    'An expiring value is there until its instant and not after it; then its clean-up runs, never before, and never if it was deleted or replaced.',
  parts: ['read', 'read after expiry', 'clean-up', 'extended', 'dropped clean-up'],
  check(evidence, _facts, exercise) {
    const problems: ReturnType<Invariant['check']> = [];
    const { events, final } = evidence;
    const values = new Map<string, Value>();
    /** Clean-ups that must not run any more, since when. */
    const dropped = new Map<string, number>();
    /** Clean-ups that must run: which, and from when on. */
    const wanted = new Map<string, number>();
    const unsure = unsureKeys(evidence);
    const fail = (event: { subjects: string[]; message: string }): void => void problems.push(event);
    for (const event of events) {
      if (event.kind === 'began') {
        const droppedAt = dropped.get(event.id);
        const wantedAt = wanted.get(event.id);
        if (wantedAt !== undefined) exercise('clean-up');
        if (droppedAt !== undefined && event.at > droppedAt)
          fail({
            subjects: [event.id],
            message: `Clean-up ${event.id} began at ${show(event.at)}; its value was deleted or replaced at ${show(droppedAt)}.`,
          });
        else if (wantedAt !== undefined && event.at < wantedAt)
          fail({
            subjects: [event.id],
            message: `Clean-up ${event.id} began at ${show(event.at)}, before its value ended (${show(wantedAt)}).`,
          });
      }
      if (event.kind !== 'valued') continue;
      const { name, key, at, op, result } = event;
      const where = `${name}/${key}`;
      if (unsure.has(where)) continue;
      const value = values.get(where);
      const isLive = value !== undefined && value.expiresAt > at;
      if (op === 'get') {
        const isRight = isLive
          ? event.value === value.text && event.expiresAt === value.expiresAt
          : event.value === null;
        exercise(isLive || value === undefined ? 'read' : 'read after expiry');
        if (isRight) continue;
        fail({
          subjects: [`value:${where}`],
          message: `Value ${where} was read by ${event.node} at ${show(at)} as ${event.value ?? 'missing'}; it ${value === undefined ? 'was not there' : `is ${value.text} until ${show(value.expiresAt)}`}.`,
        });
        continue;
      }
      if (op !== 'put' && (result === 'changed') !== isLive) {
        fail({
          subjects: [`value:${where}`],
          message: `${op} of value ${where} at ${show(at)} was told "${result}"; it ${value === undefined ? 'was not there' : `lived until ${show(value.expiresAt)}`}.`,
        });
        continue;
      }
      if (op === 'extend' && isLive) exercise('extended');
      apply(event, { values, dropped, wanted, where, value, isLive });
    }
    for (const _id of dropped.keys()) exercise('dropped clean-up');
    if (!evidence.isSettled) return problems;
    const began = new Set(events.flatMap((event) => (event.kind === 'began' ? [event.id] : [])));
    for (const [id, fromAt] of wanted) {
      if (fromAt > final.at - patienceMs || began.has(id)) continue;
      fail({
        subjects: [id],
        message: `Clean-up ${id} never ran, though its value ended at ${show(fromAt)}.`,
      });
    }
    return problems;
  },
};

function apply(
  { op, result, value: text, expiresAt, cleanupId, at }: Valued,
  state: {
    values: Map<string, Value>;
    dropped: Map<string, number>;
    wanted: Map<string, number>;
    where: string;
    value: Value | undefined;
    isLive: boolean;
  },
): void {
  const { values, dropped, wanted, where, value, isLive } = state;
  const old = value?.cleanupId ?? null;
  if (op === 'extend' && result === 'changed') {
    (value as Value).expiresAt = expiresAt as number;
    if (old !== null) wanted.set(old, expiresAt as number);
    return;
  }
  if (result !== 'changed') return;
  // One whose instant has come is cleaned up whatever comes after.
  if (isLive && old !== null && old !== cleanupId) {
    wanted.delete(old);
    dropped.set(old, at);
  }
  if (op === 'delete') values.delete(where);
  else {
    values.set(where, { text, expiresAt: expiresAt as number, cleanupId });
    if (cleanupId !== null) wanted.set(cleanupId, expiresAt as number);
  }
}

/** Values about which a call was made that nobody knows the end of: in a history that is not complete it may have been done unseen. */
function unsureKeys({ events, isComplete }: Evidence): Set<string> {
  if (isComplete) return new Set();
  const open = new Map<number, string>();
  for (const event of events) {
    if (event.kind === 'asked' && event.what === 'value') open.set(event.call, event.subject as string);
    if (event.kind === 'answered' && event.outcome !== 'unknown') open.delete(event.call);
  }
  return new Set(open.values());
}
