import type { CommandContext, CommandRun, CommonOptions } from '../cli/context.ts';
import { type PauseScope, pauseText, targetOf } from '../cli/pause-target.ts';
import { didYouMean } from '../cli/usage.ts';
import { withClient } from '../client/client.ts';
import { printJson } from '../output/json.ts';

/** `duly resume queue|type|all`. To end a pause that is not there is no error: what was asked for is so. */
export function resumeOf(scope: PauseScope): CommandRun {
  return async (context: CommandContext, options: CommonOptions, name?: string) => {
    await withClient(context, options, async ({ duly, command, changed }) => {
      const resumed = await duly.resume(targetOf(scope, name));
      if (resumed) changed('/queues');
      if (context.json) printJson(context.out, { resumed });
      else context.out.line(outcomeText(scope, name ?? null, resumed));
      const rest = await duly.pauses();
      if (!resumed && name !== undefined) {
        const near = didYouMean(
          name,
          rest.filter((pause) => pause.scope === scope).map((pause) => pause.name ?? ''),
        );
        if (near !== '') context.warn(near.trim());
      }
      // A person who resumes wants things to run; another pause that still holds them back would surprise.
      const all = rest.find((pause) => pause.scope === 'all');
      if (all !== undefined) context.warn(`Everything is still paused; see: ${command('pause ls')}`);
      else if (scope === 'all' && rest.length > 0) {
        context.warn(
          `${rest.map(pauseText).join(', ')} ${rest.length === 1 ? 'is' : 'are'} still paused; see: ${command('pause ls')}`,
        );
      }
    });
    return undefined;
  };
}

function outcomeText(scope: PauseScope, name: string | null, resumed: boolean): string {
  // A pause of everything stands beside those of single queues and tasks; ending it ends only itself.
  if (scope === 'all')
    return resumed ? 'The pause of everything is over.' : 'There was no pause of everything.';
  const what = pauseText({ scope, name });
  return resumed ? `${what} is resumed.` : `${what} was not paused.`;
}
