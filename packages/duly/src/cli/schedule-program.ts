import { catchUpModes, jitterModes, overlapModes } from '@duly/core/internal/browser';
import type { Command } from 'commander';
import { choicesText } from './choices.ts';
import {
  type ActionOf,
  addCommand,
  addGroup,
  addStorelessCommand,
  collect,
  withOutput,
} from './command-builder.ts';

const scheduleName = 'its name, or its id where several have the name';

/** `duly schedules …`. */
export function addSchedules(program: Command, action: ActionOf): void {
  const schedules = addGroup(
    program,
    'schedules',
    'rules that create jobs again and again: list, add and change them',
  );
  addReading(schedules, action);
  addCreating(schedules, action);
  addChanging(schedules, action);
  addDeclared(schedules, action);
}

function addReading(schedules: Command, action: ActionOf): void {
  addCommand(schedules, 'ls', 'list schedules, with their next and last runs')
    .alias('list')
    .option('--type <name>', 'only of this type')
    .option('--app <name>', 'only declared by this app')
    .option('--tenant <name>', 'only of this tenant')
    .option('--status <status>', 'only active, paused, disabled or ended ones')
    .option('--limit <count>', 'how many, 1 to 1000 (default 100)')
    .option('--cursor <cursor>', 'the next page, as the last one named it')
    .action(action(async () => (await import('../commands/schedules-ls.ts')).schedulesLs));
  addCommand(schedules, 'show', 'everything about one schedule, and what became of its last slots')
    .argument('<schedule>', scheduleName)
    .option('--slots <count>', 'how many lines of the ledger, 1 to 1000 (default 10)')
    .action(action(async () => (await import('../commands/schedules-show.ts')).schedulesShow));
  addRule(addCommand(schedules, 'preview', 'the next slots of a schedule, or of a rule that is not stored'))
    .argument('[schedule]', scheduleName)
    .option('--after <instant>', 'slots after this instant, or wall time in its zone (default now)')
    .option('--count <count>', 'how many, 1 to 10000 (default 10)')
    .action(action(async () => (await import('../commands/schedules-preview.ts')).schedulesPreview));
  addCommand(
    schedules,
    'export',
    'schedules as JSON, as the lines of a crontab, or as CronJobs of Kubernetes',
  )
    .argument('[schedules...]', 'only these')
    .option('--json', 'as JSON, whole (default); "import json" reads it')
    .option('--crontab', 'as lines of a crontab; what no crontab can say becomes a comment')
    .option('--kubernetes', 'as CronJob manifests; what no CronJob can say becomes a comment')
    .option('--image <image>', 'with --kubernetes: the image that has what they run')
    .action(action(async () => (await import('../commands/schedules-export.ts')).schedulesExport));
}

/** The options that make a rule. */
function addRule(command: Command): Command {
  return command
    .option('--cron <expression>', "a cron of 5, 6 or 7 fields, or a macro: '0 8 * * MON'")
    .option('--every <duration>', 'a fixed rate, from start to start: 10m')
    .option('--delay <duration>', 'a fixed delay, from the end of a run to the next: 10m')
    .option('--rrule <rule>', "a recurrence rule: 'FREQ=WEEKLY;BYDAY=MO', with --start-at or DTSTART")
    .option('--timezone <zone>', 'whose clock counts, like Europe/Rome (default UTC)')
    .option('--dst-gap <choice>', 'a time that does not exist: next (default) or skip')
    .option('--dst-repeat <choice>', 'a time that comes twice: first (default), last or both')
    .option('--exclude <calendar>', 'leave out a date, a range of dates or a cron (repeatable)', collect)
    .option('--start-at <instant>', 'no slot before this instant')
    .option('--end-at <instant>', 'no slot after this instant')
    .option('--anchor <choice>', 'where --every counts from: start (default) or epoch');
}

function addCreating(schedules: Command, action: ActionOf): void {
  addRule(addCommand(schedules, 'add', 'create a schedule, or change the one of this name to be so'))
    .argument('<name>')
    .requiredOption('--type <name>', 'the type of its jobs: the task that it runs')
    .option('--input <json or text>', 'what each run is given')
    .option(
      '--missed <choice>',
      `nobody was there when a slot came: ${choicesText(catchUpModes, { latest: 'default' })}`,
    )
    .option('--catch-up-window <duration>', 'how far back slots are caught up on')
    .option('--catch-up-limit <count>', 'how many slots are caught up on with all (default 100)')
    .option(
      '--overlap <choice>',
      `the run before is not finished: ${choicesText(overlapModes, { skip: 'default' })}`,
    )
    .option('--buffer-limit <count>', 'how many runs may wait with buffer-all (default 1000)')
    .option('--start-deadline <duration>', 'how late a run may still start')
    .option('--finish-deadline <duration>', 'when an alert reports that it is not done')
    .option('--jitter <duration>', 'spread runs: each slot falls due up to so much later')
    .option('--jitter-mode <choice>', choicesText(jitterModes, { perSchedule: 'default' }))
    .option(
      '--on-resume <choice>',
      `slots that fell in a pause: ${choicesText(catchUpModes, { skip: 'default' })}`,
    )
    .option(
      '--on-edit <choice>',
      `slots that were late at an edit: ${choicesText(catchUpModes, { skip: 'default' })}`,
    )
    .option('--pause-after-failures <count>', 'pause it after so many failures in a row')
    .option('--flag-after-failures <count>', 'flag it after so many failures in a row')
    .option('--max-runs <count>', 'how many slots fire at most')
    .option('--queue <name>', 'put its jobs into this queue')
    .option('--priority <number>', '-1000 to 1000; the higher is taken first')
    .option('--tenant <name>', 'whom the work is for')
    .option('--serial <key>', 'jobs of one serial key run one at a time')
    .option(
      '--metadata <json or name=value>',
      'your own fields, stored with its jobs (repeatable)',
      collect,
      [],
    )
    .option('--note <text>', 'what a person should know about it')
    .action(action(async () => (await import('../commands/schedules-add.ts')).schedulesAdd));
}

function addChanging(schedules: Command, action: ActionOf): void {
  addCommand(schedules, 'pause', 'stop deciding slots; jobs already created go on')
    .argument('<schedule>', scheduleName)
    .option('--for <duration>', 'ends by itself after this long')
    .option('--until <instant>', 'ends by itself at this instant')
    .option('--note <text>', 'why, for whoever asks')
    .action(action(async () => (await import('../commands/schedules-pause.ts')).schedulesPause));
  addCommand(schedules, 'resume', 'go on; slots that fell in the pause are decided by its on-resume policy')
    .argument('<schedule>', scheduleName)
    .option('--note <text>', 'why; stored in the audit')
    .action(action(async () => (await import('../commands/schedules-pause.ts')).schedulesResume));
  addCommand(schedules, 'trigger', 'one run now, also while it is paused')
    .argument('<schedule>', scheduleName)
    .option('--allow', 'beside a run that is not finished, whatever its overlap policy says')
    .option('--input <json or text>', "in place of the schedule's own")
    .option('--note <text>', 'why; stored in the audit')
    .option('--watch', 'stay and show it until it ends; the exit code is its outcome')
    .action(action(async () => (await import('../commands/schedules-trigger.ts')).schedulesTrigger));
  addCommand(schedules, 'skip-next', 'let the next slot pass')
    .argument('<schedule>', scheduleName)
    .option('--note <text>', 'why; stored in the audit')
    .action(action(async () => (await import('../commands/schedules-skip-next.ts')).schedulesSkipNext));
  addCommand(schedules, 'backfill', 'create runs for slots of the past that have no COMPLETED one')
    .argument('<schedule>', scheduleName)
    .requiredOption('--from <instant>', 'the first instant, or a date or wall time in its zone')
    .option('--to <instant>', 'the last instant, included (default now)')
    .option('--order <choice>', 'oldest (default) or newest first')
    .option('--concurrency <count>', 'how many of its runs run at a time (default 1)')
    .option('--reprocess', 'also slots that have a COMPLETED run')
    .option('--allow', 'beside other runs of the schedule instead of behind them')
    .option('--dry-run', 'only say what would be done')
    .option('--note <text>', 'why; stored in the audit')
    .action(action(async () => (await import('../commands/schedules-backfill.ts')).schedulesBackfill));
  addCommand(schedules, 'rm', 'delete schedules: what has not started is cancelled, what runs may finish')
    .argument('<schedules...>', 'their names or ids')
    .option('--note <text>', 'why; stored in the audit')
    .action(action(async () => (await import('../commands/schedules-rm.ts')).schedulesRm));
}

function addDeclared(schedules: Command, action: ActionOf): void {
  addCommand(schedules, 'diff', 'what "apply" would do: what the tasks here declare, and what is stored')
    .option('--prune', 'as if what is no longer declared were to be removed')
    .action(action(async () => (await import('../commands/schedules-apply.ts')).schedulesDiff));
  addCommand(schedules, 'apply', 'change the stored schedules of this app to what the tasks here declare')
    .option('--prune', 'remove what is no longer declared, instead of disabling or only showing it')
    .option('--yes', 'do not ask before something is removed; needed where nobody can be asked')
    .action(action(async () => (await import('../commands/schedules-apply.ts')).schedulesApply));
}

/** `duly cron …`. */
export function addCron(program: Command, action: ActionOf): void {
  const cron = withOutput(program.command('cron')).description('try a cron expression; needs no store');
  addStorelessCommand(cron, 'next', 'when it fires next')
    .argument('<expression...>', 'the cron, in quotes')
    .option('--timezone <zone>', 'whose clock counts (default UTC)')
    .option('--count <count>', 'how many, 1 to 10000 (default 10)')
    .option('--after <instant>', 'after this instant, or wall time in the zone (default now)')
    .action(action(async () => (await import('../commands/cron.ts')).cronNext));
  addStorelessCommand(cron, 'explain', 'what it means, in words')
    .argument('<expression...>', 'the cron, in quotes')
    .option('--timezone <zone>', 'whose clock counts (default UTC)')
    .action(action(async () => (await import('../commands/cron.ts')).cronExplain));
}

/** `duly forecast`. */
export function addForecast(program: Command, action: ActionOf): void {
  addCommand(
    program,
    'forecast',
    'what the schedules come to: load, concurrency needed, collisions, changes of the clock',
  )
    .option('--hours <count>', 'how far, 1 to 744 (default 24)')
    .option(
      '--concurrency <count>',
      'how many runs at the same time, over all nodes: how late would they start?',
    )
    .option('--lateness <duration>', 'how late a run may start, for the concurrency needed (default 1m)')
    .option('--takes <duration>', 'how long a run lasts where history knows nothing (default 10s)')
    .option('--tenant <name>', 'only the schedules of this tenant')
    .option('--jobs <count>', 'without a store: this many jobs of --takes, with --every or --concurrency')
    .option('--every <duration>', 'with --jobs: how often that many come')
    .action(action(async () => (await import('../commands/forecast.ts')).forecast));
}
