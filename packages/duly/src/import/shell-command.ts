/** The target of a command, as the server's task takes it. */
export interface CommandInput {
  command: {
    argv: string[];
    placeholders?: boolean;
    stdin?: string;
    cwd?: string;
    env?: Record<string, string>;
  };
}

/** A line that a shell runs, as cron would. */
export interface ShellLine {
  line: string;
  shell: string;
  /** Whom it runs as; null: whoever runs the node. */
  user: string | null;
}

/** How a node of root becomes another user. */
export const userSwitches = ['runuser', 'sudo', 'none'] as const;
/** One of them. */
export type UserSwitch = (typeof userSwitches)[number];

// From the user's home, as cron does; the line itself stays one argument, unread by us.
const fromHome = 'cd 2>/dev/null; exec "$0" -c "$1"';
/** What cron gives a line to when the crontab names no other. */
export const cronShell = '/bin/sh';

/** The arguments that run a line as cron would. */
export function argvOf({ line, shell, user }: ShellLine, userSwitch: UserSwitch): string[] {
  if (user === null || userSwitch === 'none') return [cronShell, '-c', fromHome, shell, line];
  if (userSwitch === 'sudo')
    return ['sudo', '-n', '-H', '-u', user, '--', cronShell, '-c', fromHome, shell, line];
  return ['runuser', '-s', cronShell, '-c', fromHome, '--', user, shell, line];
}

/** The line that such arguments run; null: they are somebody else's. */
export function lineOf(argv: readonly string[]): ShellLine | null {
  const at = argv.indexOf(fromHome);
  if (at === -1) return null;
  const [shell, line] = argv.slice(-2);
  if (shell === undefined || line === undefined || argv.length < at + 3) return null;
  const user = argv[0] === 'sudo' ? argv[4] : argv[0] === 'runuser' ? argv[6] : undefined;
  return { line, shell, user: user ?? null };
}
