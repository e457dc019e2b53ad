import { scopes } from '@duly/core/internal/browser';
import { Command } from 'commander';
import { choicesText } from './choices.ts';
import {
  type ActionOf,
  addCommand,
  addGroup,
  addStorelessCommand,
  collect,
  withOutput,
  withStore,
} from './command-builder.ts';
import { addImport } from './import-program.ts';
import { addCron, addForecast, addSchedules } from './schedule-program.ts';
import { readVersion } from './version.ts';

/** The tree of commands with their arguments and options. What they do is in `commands/`. */
export function buildProgram(action: ActionOf): Command {
  const program = withStore(withOutput(new Command('duly')))
    .description('Durable jobs and schedules from the command line.')
    .version(readVersion(), '-v, --version', 'print the version')
    .helpOption('-h, --help', 'print help')
    .configureOutput({ outputError: () => {} })
    .configureHelp({ showGlobalOptions: false })
    .addHelpText('after', examples);

  program.commandsGroup('Run:');
  addNodes(program, action);
  program.commandsGroup('Look and act:');
  addJobs(program, action);
  addDead(program, action);
  addPauses(program, action);
  addKeys(program, action);
  program.commandsGroup('Schedules:');
  addSchedules(program, action);
  addCron(program, action);
  addForecast(program, action);
  addImport(program, action);
  program.commandsGroup('The store:');
  addStore(program, action);
  program.addHelpCommand(
    new Command('help')
      .argument('[command...]')
      .description('print help')
      .helpOption(false)
      .helpGroup('The store:'),
  );
  return program;
}

const examples = `
Every command takes --store, --config and -o json, before or after its name; "duly <command> --help" shows the rest.

Examples:
  duly up --demo
  duly run video_transcode uploads/holiday.mp4 --watch
  duly run reminder '{"user": 42}' --in "3 days" --key user-42
  duly jobs ls --status failed,retrying --since 1h
  duly why job_01k9…
  duly schedules add digest --type send_digest --cron '0 8 * * MON' --timezone Europe/Rome
  duly why digest 2027-03-14T08:00
`;

function addNodes(program: Command, action: ActionOf): void {
  addStorelessCommand(program, 'init', 'write a config, a first task and its test')
    .argument('[folder]', 'where (default: here)')
    .action(action(async () => (await import('../commands/init.ts')).init));
  addCommand(
    program,
    'up',
    'start everything on ./duly.db: all roles, the server with its dashboard, and a live line for each job',
  )
    .option('--demo', 'run the built-in demo tasks, whatever is in this folder')
    .option('--concurrency <count>', 'attempts that run at the same time (default 20)')
    .option('--queues <names>', 'take only from these queues (several: commas, or repeat it)', collect)
    .option('--quiet', 'no lines about jobs')
    .option('--host <address>', 'where the server listens (default 127.0.0.1: this machine only)')
    .option('--port <number>', 'and on which port (default 4600, or a free one near it)')
    .option(
      '--allow-host <names>',
      'names by which the server is reached (several: commas, or repeat it)',
      collect,
    )
    .option('--trust-proxy', 'a proxy stands before the server, and its X-Forwarded-Proto is true')
    .option(
      '--rate-limit <requests>',
      'requests per second that each key may send (default 1000; 0: no limit)',
    )
    .option(
      '--allow-targets <hosts>',
      'hosts and ranges beyond the public internet that jobs, webhooks and alerts may call',
      collect,
    )
    .option('--allow-commands', 'let jobs run programs on this machine')
    .option('--no-server', 'no server: neither the API nor the dashboard')
    .option('--no-tasks', 'without tasks, neither yours nor the demo: nodes elsewhere run them')
    .option('--no-reload', 'do not load tasks anew when their files change')
    .action(action(async () => (await import('../commands/up.ts')).up));
  addCommand(program, 'worker', 'start a node that runs your tasks')
    .option('--roles <names>', 'some of scheduler,worker,maintenance (default all)', collect)
    .option('--concurrency <count>', 'attempts that run at the same time (default 20)')
    .option('--queues <names>', 'take only from these queues (several: commas, or repeat it)', collect)
    .option('--quiet', 'no lines about jobs')
    .option('--allow-commands', 'let jobs run programs on this machine')
    .action(action(async () => (await import('../commands/worker.ts')).worker));
  addCommand(program, 'tick', 'do what is due, and what falls due soon, then end: for cron and serverless')
    .option('--for <duration>', 'what falls due in this time (default 50s); nothing is begun after it')
    .option('--stay', 'stay for all of that time, also for jobs that are created meanwhile')
    .option('--drain <duration>', 'how long what runs then may take to finish (default 30s)')
    .option('--concurrency <count>', 'attempts that run at the same time (default 20)')
    .option('--queues <names>', 'take only from these queues (several: commas, or repeat it)', collect)
    .option('--allow-commands', 'let jobs run programs on this machine')
    .option('--quiet', 'print nothing')
    .action(action(async () => (await import('../commands/tick.ts')).tick));
  addCommand(program, 'run', 'create a job: now, in a while or at an instant')
    .argument('<task>', 'name of the task')
    .argument('[input]', 'its input: JSON, or else a text; "-" reads it from stdin')
    .option('--in <duration>', 'start it after this long, like 5m or "3 days"')
    .option('--at <instant>', 'start it at this instant, like 2027-01-01T14:32:00Z')
    .option('--queue <name>', 'put it into this queue')
    .option('--priority <number>', '-1000 to 1000; the higher is taken first')
    .option('--tenant <name>', 'whom the work is for')
    .option('--key <key>', 'dedupe: while a job holds the key, no second one is created')
    .option('--serial <key>', 'jobs of one serial key run one at a time')
    .option('--metadata <json or name=value>', 'your own fields, stored with the job (repeatable)', collect)
    .option('--watch', 'stay and show it until it ends; the exit code is its outcome')
    .action(action(async () => (await import('../commands/run.ts')).run));
  addExec(program, action);
}

function addExec(program: Command, action: ActionOf): void {
  addCommand(program, 'exec', 'run a program on one of many hosts, and record the run as a job')
    .argument('<command...>', 'the program and its arguments, best after "--"')
    // What stands behind the program's name is the program's.
    .passThroughOptions()
    .requiredOption('--name <name>', 'hosts that give the same name run it one at a time')
    .option('--slot <duration or cron>', "one run in each: 1d, or '0 2 * * *' (default: only one at a time)")
    .option('--timezone <zone>', "whose clock the cron of --slot goes by (default: this machine's)")
    .option('--ttl <duration>', 'how long the name stays taken after its host died (default 5m)')
    .option('--timeout <duration>', 'end the program after this long (default: never)')
    .option('--at-most-once', 'a run that was lost with its host is not taken over by another')
    .option('--lost-exit <code>', 'the exit code where it is not run (default 0)')
    .option('--quiet', 'say nothing where it is not run')
    .addHelpText('after', execExamples)
    .action(action(async () => (await import('../commands/exec.ts')).exec));
}

const execExamples = `
In the crontab of five servers; one of them runs it:
  0 2 * * *  duly exec --name digest --slot 1d --store postgres://… -- python send_digest.py

The exit code is the program's. It is given DULY_FENCE, DULY_JOB_ID, DULY_ATTEMPT and, with a cron, DULY_SLOT.
`;

function addJobs(program: Command, action: ActionOf): void {
  const jobs = addGroup(program, 'jobs', 'list, show, watch and change jobs');
  addCommand(jobs, 'ls', 'list jobs, newest first')
    .alias('list')
    .argument('[words...]', 'only with all of these in type, tenant, status or error')
    .option('--status <statuses>', 'only in these statuses (several: commas, or repeat it)', collect)
    .option('--type <names>', 'only of these types (several: commas, or repeat it)', collect)
    .option('--queue <names>', 'only in these queues (several: commas, or repeat it)', collect)
    .option('--tenant <name>', 'only of this tenant')
    .option('--key <key>', 'only with this dedupe key')
    .option('--input <path=value>', 'only with this value in the input (repeatable)', collect)
    .option('--error <text>', 'only with this text in the error')
    .option('--since <duration or instant>', 'only created since then, like 1h or 2027-01-01T00:00:00Z')
    .option('--limit <count>', 'how many, 1 to 1000 (default 20)')
    .option('--cursor <cursor>', 'the next page, as the last one named it')
    .action(action(async () => (await import('../commands/jobs-ls.ts')).jobsLs));
  addCommand(jobs, 'show', 'everything about one job')
    .argument('<id>')
    .action(action(async () => (await import('../commands/jobs-show.ts')).jobsShow));
  addWatch(jobs, action);
  addCommand(jobs, 'logs', 'the lines its handler logged')
    .argument('<id>')
    .option('-f, --follow', 'stay and print what comes until the job ends')
    .action(action(async () => (await import('../commands/jobs-logs.ts')).jobsLogs));
  addCommand(jobs, 'cancel', 'cancel jobs; running ones are asked to stop')
    .argument('[ids...]')
    .option('--type <name>', 'with --key: the type')
    .option('--key <key>', 'the job that holds this dedupe key')
    .option('--tenant <name>', 'with --key: the tenant')
    .option('--terminate', 'end a running job at once instead of asking it')
    .option('--note <text>', 'why; stored in the audit')
    .action(action(async () => (await import('../commands/jobs-cancel.ts')).jobsCancel));
  addCommand(jobs, 'retry', 'bring FAILED, CANCELLED or EXPIRED jobs back')
    .argument('<ids...>')
    .option('--note <text>', 'why; stored in the audit')
    .action(action(async () => (await import('../commands/jobs-retry.ts')).jobsRetry));
  addCommand(jobs, 'reschedule', 'move a waiting job to another time')
    .argument('<id>')
    .option('--in <duration>', 'so long from now')
    .option('--at <instant>', 'to this instant')
    .action(action(async () => (await import('../commands/jobs-reschedule.ts')).jobsReschedule));
  addWatch(program, action);
  addCommand(program, 'why', 'what became of a job or of a slot of a schedule, or what it waits for')
    .argument('<id>', 'id of a job, or name or id of a schedule')
    .argument('[slot]', 'of a schedule: an instant, or a wall time in its zone like 2027-03-14T02:30')
    .action(action(async () => (await import('../commands/why.ts')).why));
}

function addWatch(parent: Command, action: ActionOf): void {
  addCommand(parent, 'watch', 'show a job until it ends; the exit code is its outcome')
    .argument('<id>')
    .action(action(async () => (await import('../commands/jobs-watch.ts')).jobsWatch));
}

function addDead(program: Command, action: ActionOf): void {
  const dead = addGroup(program, 'dead', 'dead letters: FAILED jobs that wait for a person');
  addCommand(dead, 'ls', 'list dead letters, newest first')
    .alias('list')
    .option('--type <names>', 'only of these types (several: commas, or repeat it)', collect)
    .option('--error <text>', 'only with this text in the error')
    .option('--since <duration or instant>', 'only created since then')
    .option('--limit <count>', 'how many, 1 to 1000 (default 20)')
    .option('--cursor <cursor>', 'the next page, as the last one named it')
    .action(action(async () => (await import('../commands/dead-ls.ts')).deadLs));
  for (const [verb, description] of [
    ['retry', 'bring dead letters back'],
    ['discard', 'take dead letters off the list; they stay in history for their retention'],
  ] as const) {
    addCommand(dead, verb, description)
      .argument('[ids...]')
      .option('--all', 'all of them')
      .option('--type <names>', 'all of these types (several: commas, or repeat it)', collect)
      .option('--error <text>', 'all with this text in the error')
      .option('--dry-run', 'only count')
      .option('--yes', 'do not ask; needed with --all, --type and --error where nobody can answer')
      .option('--note <text>', 'why; stored in the audit')
      .action(
        action(async () => {
          const { deadRetry, deadDiscard } = await import('../commands/dead-act.ts');
          return verb === 'retry' ? deadRetry : deadDiscard;
        }),
      );
  }
}

function addPauses(program: Command, action: ActionOf): void {
  const pause = addGroup(program, 'pause', 'stop starting jobs; they are still accepted');
  const resume = addGroup(program, 'resume', 'end a pause');
  for (const [scope, what] of [
    ['queue', 'one queue'],
    ['type', 'the jobs of one type'],
    ['all', 'everything'],
  ] as const) {
    const pauseCommand = addCommand(pause, scope, `pause ${what}`)
      .option('--for <duration>', 'ends by itself after this long')
      .option('--until <instant>', 'ends by itself at this instant')
      .option('--note <text>', 'why, for whoever asks');
    const resumeCommand = addCommand(resume, scope, `resume ${what}`);
    if (scope !== 'all') {
      pauseCommand.argument('<name>');
      resumeCommand.argument('<name>');
    }
    pauseCommand.action(action(async () => (await import('../commands/pause.ts')).pauseOf(scope)));
    resumeCommand.action(action(async () => (await import('../commands/resume.ts')).resumeOf(scope)));
  }
  addCommand(pause, 'ls', 'list the pauses in force')
    .alias('list')
    .action(action(async () => (await import('../commands/pause-ls.ts')).pauseLs));
}

function addKeys(program: Command, action: ActionOf): void {
  const keys = addGroup(program, 'keys', 'keys of the HTTP API and the dashboard');
  addCommand(keys, 'ls', 'list keys')
    .alias('list')
    .action(action(async () => (await import('../commands/keys.ts')).keysLs));
  addCommand(keys, 'add', 'create a key; it is shown only once')
    .option('--scope <scope>', `${choicesText(scopes)}; each holds those before it (default run)`)
    .option('--tenant <name>', 'the one tenant that it is for')
    .option('--for <duration>', 'ends by itself after this long')
    .option('--note <text>', 'what it is for')
    .action(action(async () => (await import('../commands/keys.ts')).keysAdd));
  addCommand(keys, 'revoke', 'end keys')
    .alias('rm')
    .argument('<ids...>')
    .action(action(async () => (await import('../commands/keys.ts')).keysRevoke));
}

function addProfiles(program: Command, action: ActionOf): void {
  const profiles = addStorelessCommand(program, 'profiles', 'servers and their keys, by short names');
  addStorelessCommand(profiles, 'ls', 'list them, without their keys')
    .alias('list')
    .action(action(async () => (await import('../commands/profiles.ts')).profilesLs));
  addStorelessCommand(profiles, 'add', 'store a server and its key under a name, for this user only')
    .argument('<name>')
    .argument('<url>', 'like https://duly.example.com')
    .option('--server-key <key>', 'its key; "-" reads it from stdin (default: $DULY_KEY)')
    .action(action(async () => (await import('../commands/profiles.ts')).profilesAdd));
  addStorelessCommand(
    profiles,
    'use',
    'give commands to this server unless they name another; without a name to none',
  )
    .argument('[name]')
    .action(action(async () => (await import('../commands/profiles.ts')).profilesUse));
  addStorelessCommand(profiles, 'rm', 'forget one')
    .argument('<name>')
    .action(action(async () => (await import('../commands/profiles.ts')).profilesRm));
}

function addStore(program: Command, action: ActionOf): void {
  addCommand(program, 'top', 'queues, nodes and running jobs, live; off a terminal once')
    .option('--every <duration>', 'how often it looks (default 1s)')
    .action(action(async () => (await import('../commands/top.ts')).top));
  addStorelessCommand(program, 'completion', 'print a script that completes commands and options')
    .argument('<shell>', 'bash, zsh or fish')
    .action(action(async () => (await import('../commands/completion.ts')).completionOf(program)));
  addProfiles(program, action);
  addCommand(program, 'queues', 'what is ready in which queue, and how many jobs are in each status').action(
    action(async () => (await import('../commands/queues.ts')).queues),
  );
  addCommand(program, 'nodes', 'the live nodes, and what they run').action(
    action(async () => (await import('../commands/nodes.ts')).nodes),
  );
  const locks = addGroup(program, 'locks', 'locks, leaderships and what once() holds');
  addCommand(locks, 'ls', 'list who holds which locks, by kind and name')
    .alias('list')
    .option('--kind <kind>', 'only lock, leader or once')
    .option('--prefix <text>', 'only names that begin so')
    .option('--limit <count>', 'how many, 1 to 1000 (default 20)')
    .option('--cursor <cursor>', 'the next page, as the last one named it')
    .action(action(async () => (await import('../commands/locks-ls.ts')).locksLs));
  addCommand(program, 'doctor', 'check the store, the nodes and the schedules; the exit code is the result')
    .option('--patience <duration>', 'how long the store may take for each answer (default 5s)')
    .action(action(async () => (await import('../commands/doctor.ts')).doctor));
  addCommand(
    program,
    'bench',
    'how fast jobs are created, started and run here, on a store beside the given one',
  )
    .option('--jobs <count>', 'how many, 100 to 1000000 (default 5000)')
    .action(action(async () => (await import('../commands/bench.ts')).bench));
  const migrate = addCommand(
    program,
    'migrate',
    'create the store, or bring its schema up to this version',
  ).action(action(async () => (await import('../commands/migrate.ts')).migrate));
  addStorelessCommand(program, 'move', 'move everything to another store; nodes on the old one stop')
    .requiredOption('--from <url>', 'the store as it is')
    .requiredOption('--to <url>', 'an empty one; or the one that a move, which was interrupted, went to')
    .option('--dry-run', 'only report what would be moved')
    .option('--abandon', 'give up a move that has not ended: the old store takes calls again')
    .option('--yes', 'do not ask; needed where nobody can answer')
    .action(action(async () => (await import('../commands/move.ts')).move));
  addCommand(
    migrate,
    'status',
    'report where the schema stands and what is missing, and change nothing',
  ).action(action(async () => (await import('../commands/migrate-status.ts')).migrateStatus));
}
