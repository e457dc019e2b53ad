import { isDulyError } from '@duly/core';
import { localText, toSnakeCase } from '@duly/core/internal';
import type { CommandContext, CommonOptions } from '../cli/context.ts';
import { usageError } from '../cli/usage.ts';
import type { Client } from '../client/client.ts';
import { shellWord } from '../client/store.ts';
import { printJson } from '../output/json.ts';
import { harmless } from '../output/terminal.ts';
import { ruleOf, withSchedules } from '../schedules/schedule-client.ts';

/** `duly why`: a sentence about a job or a slot, or all of it as JSON. */
export async function why(
  context: CommandContext,
  options: CommonOptions,
  id: string,
  slot: string | undefined,
): Promise<undefined> {
  await withSchedules(context, options, async (client) => {
    const { duly } = client;
    const answer = slot === undefined ? await whyJob(client, id) : await duly.why(id, slot);
    if (context.json) printJson(context.out, toSnakeCase(answer));
    else context.out.sentence(harmless(answer.sentence));
  });
}

async function whyJob(client: Client, id: string) {
  try {
    return await client.duly.why(id);
  } catch (error) {
    if (!isDulyError(error) || id.startsWith('job_')) throw error;
    throw (await slotMissing(client, id)) ?? error;
  }
}

/** Whoever names a schedule and no slot is told how a slot is named. */
async function slotMissing({ duly, command }: Client, name: string) {
  const schedule = await duly.schedules.get(name, { deleted: true }).catch(() => null);
  if (schedule === null) return null;
  const slot = schedule.lastRun?.slot ?? schedule.nextSlot;
  const example =
    slot === null ? '2027-03-14T02:30' : localText(slot, ruleOf(schedule), 'T', ' ').split(' ')[0];
  return usageError(
    `"${name}" is a schedule: say which of its slots, in its zone (${schedule.timezone}).`,
    `For example: ${command(`why ${shellWord(name)} ${example}`)}`,
  );
}
