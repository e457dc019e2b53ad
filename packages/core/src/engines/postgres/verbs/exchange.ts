import type {
  ExchangeInput,
  ExchangeReply,
  Reply,
  SettleInTransactionInput,
  Settlement,
} from '../../../contract/engine.ts';
import { canTransition } from '../../../contract/job-status.ts';
import { numberArray, textArray } from '../arrays.ts';
import type { LaneScan } from '../claim-scan-hints.ts';
import { statements } from '../generated.ts';
import { checkedDue } from '../job-columns.ts';
import type { Work } from '../work.ts';
import { type ClaimedJobColumns, toClaimedJobs } from './claim.ts';
import { writtenReport } from './report.ts';

interface Answer {
  /** Places of the settlements that were not recorded. */
  lost: number[];
  claimed: ClaimedJobColumns;
  nextDueAt: number | null;
  more: boolean;
  soloSinceAt: number | null;
  scan?: LaneScan | null;
}

/** See the contract. */
export async function exchange(work: Work, input: ExchangeInput): Promise<ExchangeReply> {
  const { scan: scanned, ...reply } = await exchangeOnce(work, input);
  // A claim with hints found nothing, but a notification may be about a job below them.
  const isInDoubt = scanned?.isFull === false && reply.claimed.length === 0 && input.claim?.limit !== 0;
  if (!isInDoubt) return reply;
  // What was settled counts from the instant that is answered, so a second statement, with an instant of its own, is for the next call.
  const leastMs = input.settle.length > 0 ? 1 : 0;
  const waitMs = Math.max(leastMs, work.scanHints?.waitMs() ?? 0);
  if (waitMs > 0) {
    const nextLookAt = reply.now + Math.ceil(waitMs);
    return { ...reply, nextDueAt: Math.min(reply.nextDueAt ?? nextLookAt, nextLookAt) };
  }
  const { scan: _, ...again } = await exchangeOnce(work, input, { isFull: true });
  return again;
}

async function exchangeOnce(
  work: Work,
  input: ExchangeInput,
  how: { isFull?: boolean } = {},
): Promise<ExchangeReply & Pick<Answer, 'scan'>> {
  const { claim } = input;
  const asked = claim === null ? null : (work.scanHints?.sent(claim, how) ?? claim);
  const reply = await settleAndClaim(work, input, asked);
  const { now, nextDueAt, more, soloSinceAt, scan: scanned } = reply;
  const claimed = toClaimedJobs(work, reply.claimed);
  if (claim !== null) work.scanHints?.update(claim, now, scanned);
  const settled: ExchangeReply['settled'] = input.settle.map(() => 'done');
  for (const position of reply.lost) settled[position] = 'lost';
  return { now, settled, claimed, nextDueAt, more, soloSinceAt, scan: scanned };
}

function settleAndClaim(work: Work, input: ExchangeInput, asked: object | null): Promise<Answer & Reply> {
  const { returned, others } = sorted(input.settle);
  return work.call<Answer>(statements.call.exchange, [
    input.now ?? null,
    returned === null ? null : textArray(returned.ids),
    returned === null ? null : numberArray(returned.fences),
    returned === null || returned.results.every((result) => result === null)
      ? null
      : textArray(returned.results),
    returned === null || returned.ids.length === input.settle.length ? null : numberArray(returned.positions),
    others.length === 0 ? null : JSON.stringify(others),
    asked === null ? null : JSON.stringify(asked),
    input.repeat === true,
  ]);
}

/** Records one outcome inside the user's transaction; a lost lease fails the whole of it. */
export async function settleInTransaction(work: Work, input: SettleInTransactionInput): Promise<Reply> {
  const { now } = await work.call(statements.call.settleInTransaction, [
    input.now ?? null,
    JSON.stringify([writtenSettlement(input.settlement, 0)]),
  ]);
  return { now };
}

/** Attempts that returned, by columns. */
interface Returned {
  ids: string[];
  fences: number[];
  results: (string | null)[];
  positions: number[];
}

/** So few are done in their order; more that returned are ended together. */
const togetherMin = 4;

/** Most attempts return, and of these the store need not know more. The others go as they are, each with its place in the list. */
function sorted(settle: Settlement[]): { returned: Returned | null; others: object[] } {
  const plain = settle.filter(isPlainSuccess);
  const isTogether = plain.length >= togetherMin || (plain.length === 1 && settle.length === 1);
  if (!isTogether) return { returned: null, others: settle.map(writtenSettlement) };
  const returned: Returned = { ids: [], fences: [], results: [], positions: [] };
  const seen = new Set<string>();
  const others: object[] = [];
  for (const [position, one] of settle.entries()) {
    // The same job a second time in one call is judged by itself, after the first has ended it.
    if (!isPlainSuccess(one) || seen.has(one.id)) {
      others.push(writtenSettlement(one, position));
      continue;
    }
    seen.add(one.id);
    returned.ids.push(one.id);
    returned.fences.push(one.fence);
    returned.results.push(one.result);
    returned.positions.push(position);
  }
  return { returned, others };
}

function isPlainSuccess({ to, reason, spends, loss, report, error }: Settlement): boolean {
  return (
    to === 'COMPLETED' &&
    reason === 'returned' &&
    spends &&
    loss === 'none' &&
    report === null &&
    error === null
  );
}

function writtenSettlement(one: Settlement, position: number): object {
  const { id, fence, to, reason, spends, started, loss, solo, due, result, error, report } = one;
  return {
    ...{ i: position, id, fence, to, reason, spends, started, loss, result },
    ...(!canTransition('RUNNING', to) && { impossible: true }),
    ...(solo !== undefined && { solo }),
    ...(due !== null && { due: checkedDue(due) }),
    ...(error !== null && { error: JSON.stringify(error) }),
    ...(report !== null && { report: writtenReport(report) }),
  };
}
