import { catchUpModes, overlapModes } from '@duly/core/internal/browser';
import type { Command } from 'commander';
import { choicesText } from './choices.ts';
import { type ActionOf, addCommand, addGroup } from './command-builder.ts';

/** `duly import …`. */
export function addImport(program: Command, action: ActionOf): void {
  const parent = addGroup(
    program,
    'import',
    'schedules from crontabs and Kubernetes: a plan first, then as they shall begin',
  );
  withMode(
    addCommand(
      parent,
      'crontab',
      'what becomes of crontabs: each line in words, with its next runs and hazards',
    ),
  )
    .argument('[files...]', 'FILE, HOST=FILE, or "-" for stdin')
    .option('--system', "this machine's: /etc/crontab, /etc/cron.d and the users' own")
    .option('--root <folder>', 'the same of a system whose files are below this folder')
    .option('--user-column', 'lines of all files name a user, as in /etc/crontab')
    .option('--timezone <zone>', "of lines without CRON_TZ (default: this machine's)")
    .option('--per-host', 'a schedule for each host, also where several have the same line')
    .option(
      '--switch-user <how>',
      'how a node of root becomes the user of a line: runuser (default), sudo or none',
    )
    .option('--history <log>', 'a log of cron (/var/log/syslog, "-" for stdin): reports runs that overlapped')
    .option(
      '--missed <choice>',
      `nobody was there when a slot came: ${choicesText(catchUpModes, { skip: 'default, as cron does' })}`,
    )
    .option(
      '--overlap <choice>',
      `the run before is not finished: ${choicesText(overlapModes, { skip: 'default', allow: 'as cron does' })}`,
    )
    .option('--jitter <duration>', 'spread runs: each slot falls due up to so much later')
    .option('--skip-unreadable', 'import the other lines')
    .action(action(async () => (await import('../commands/import-crontab.ts')).importCrontab));
  withMode(addCommand(parent, 'kubernetes', 'what becomes of CronJob manifests, field by field'))
    .argument('<files...>', 'YAML or JSON files, folders of them, or "-" for stdin')
    .option(
      '--run <how>',
      "command (default): the container's command, where the node runs; docker: in its image",
    )
    .option('--skip-unreadable', 'import the other manifests')
    .action(action(async () => (await import('../commands/import-kubernetes.ts')).importKubernetes));
  withMode(addCommand(parent, 'json', 'the schedules that "schedules export" wrote'))
    .argument('<file>', 'a file, or "-" for stdin')
    .action(action(async () => (await import('../commands/import-json.ts')).importJson));
  addCommand(parent, 'compare', 'what schedules imported as a shadow would have done, and what cron did')
    .argument('[schedules...]', 'only these')
    .requiredOption('--history <log>', 'the log of cron: /var/log/syslog, or "-" for stdin')
    .option('--timezone <zone>', "of times in the log that have none (default: this machine's)")
    .option('--tolerance <duration>', 'how far apart two starts of one slot may be (default 1m)')
    .action(action(async () => (await import('../commands/import-compare.ts')).importCompare));
}

/** How imported schedules begin. */
export function withMode(command: Command): Command {
  return command
    .option('--paused', 'store them, paused')
    .option('--shadow', 'store them so that they record what they would do, and run nothing')
    .option('--live', 'store them, and let them run');
}
