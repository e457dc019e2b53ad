import type { RecordsInput, RecordsReply, SettingRecord } from '../../../contract/engine.ts';
import { statements } from '../generated.ts';
import { type AnsweredGroup, eachGroup, type Work } from '../work.ts';

/** See the contract. */
export function records(work: Work, input: RecordsInput): Promise<RecordsReply> {
  return eachGroup(
    input.groups,
    (group) => group,
    (groups) =>
      work.call<{ groups: AnsweredGroup<SettingRecord[]>[] }>(statements.call.records, [
        input.now ?? null,
        JSON.stringify(groups),
      ]),
  );
}
