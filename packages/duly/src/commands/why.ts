import { withClient } from '../client.ts';
import { printJson, toSnakeCase } from '../output/json.ts';
import { harmless } from '../output/terminal.ts';
import type { CommonOptions, Shell } from '../shell.ts';

/** `duly why`: a sentence, or all of it as JSON. */
export async function why(shell: Shell, options: CommonOptions, id: string): Promise<undefined> {
  await withClient(shell, options, async ({ duly }) => {
    const answer = await duly.why(id);
    if (shell.json) printJson(shell.out, toSnakeCase(answer));
    else shell.out.sentence(harmless(answer.sentence));
  });
}
