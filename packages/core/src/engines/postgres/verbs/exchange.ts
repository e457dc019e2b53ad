import type { ExchangeInput, ExchangeReply, Settlement } from '../../../engine.ts';
import { canTransition } from '../../../job.ts';
import { statements } from '../generated.ts';
import { checkedDue } from '../specs.ts';
import type { Work } from '../work.ts';
import { type LeasedRow, toClaimedJobs } from './claim.ts';
import { writtenReport } from './report.ts';

interface Answer {
  /** Places, counted from 1, of the settlements that were not recorded. */
  lost: number[];
  claimed: LeasedRow[];
  nextDueAt: number | null;
  more: boolean;
  soloSinceAt: number | null;
}

/** See the contract. */
export async function exchange(work: Work, input: ExchangeInput): Promise<ExchangeReply> {
  const { now, lost, claimed, nextDueAt, more, soloSinceAt } = await work.call<Answer>(
    statements.call.exchange,
    [
      input.now ?? null,
      JSON.stringify(input.settle.map(writtenSettlement)),
      input.claim === null ? null : JSON.stringify(input.claim),
      input.repeat === true,
    ],
  );
  const settled: ExchangeReply['settled'] = input.settle.map(() => 'done');
  for (const place of lost) settled[place - 1] = 'lost';
  return { now, settled, claimed: toClaimedJobs(work, claimed), nextDueAt, more, soloSinceAt };
}

/** Most attempts simply return, and of these the store need not know more. */
function writtenSettlement(one: Settlement): object {
  const { id, fence, to, reason, spends, started, loss, due, result, error, report } = one;
  const isSimple =
    to === 'COMPLETED' && reason === 'returned' && loss === 'none' && report === null && error === null;
  return {
    ...{ id, fence, to, reason, spends, started, loss, result },
    ...(isSimple && { simple: true }),
    ...(!canTransition('RUNNING', to) && { impossible: true }),
    ...(due !== null && { due: checkedDue(due) }),
    ...(error !== null && { error: JSON.stringify(error) }),
    ...(report !== null && { report: writtenReport(report) }),
  };
}
