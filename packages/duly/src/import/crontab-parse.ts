/** One job of a crontab, as it is written. */
export interface CrontabEntry {
  /** Where it stands, from 1. */
  line: number;
  /** The line itself. */
  text: string;
  /** The five fields, or the macro with its `@`. */
  when: string;
  /** Whom it runs as; null: the file is a user's own. */
  user: string | null;
  /** What the shell is given. */
  command: string;
  /** What stands behind the first bare `%`: the program's input; null: none. */
  stdin: string | null;
  /** Environment lines above it. */
  env: Readonly<Record<string, string>>;
  /** The comment right above it; empty: none. */
  comment: string;
  /** What `duly schedules export` wrote above it; null: nothing. */
  annotation: Record<string, unknown> | null;
  /** Whether a minus sign before the minute, of SUSE and cronie, keeps it out of the log. */
  isUnlogged: boolean;
  /** Flags of the BSDs before the command, like `n` in `-n`. */
  flags: string;
}

/** A line that cannot be read. */
export interface CrontabProblem {
  line: number;
  text: string;
  /** A sentence. */
  message: string;
}

/** What a crontab says. */
export interface Crontab {
  entries: CrontabEntry[];
  problems: CrontabProblem[];
}

const unlogged = /^-(?=[\d*~@])/;
const macro = /^(@\S+)\s+(.*)$/;
const fields = /^((?:\S+\s+){4}\S+)\s+(.*)$/;
const environment = /^("[^"]*"|'[^']*'|[^\s=#]+)\s*=\s*(.*)$/;
const annotationMark = /^#\s*duly:\s*(\{.*\})\s*$/;

/** Reads a crontab; `hasUser` is for system files, whose lines name a user. Nothing throws: what cannot be read is told. */
export function parseCrontab(text: string, { hasUser }: { hasUser: boolean }): Crontab {
  const entries: CrontabEntry[] = [];
  const problems: CrontabProblem[] = [];
  let env: Record<string, string> = {};
  let comment = '';
  let annotation: Record<string, unknown> | null = null;
  const forget = (): void => {
    comment = '';
    annotation = null;
  };
  // A byte order mark, and line ends of other systems, come along with files that were mailed.
  for (const [i, raw] of text
    .replace(/^\uFEFF/, '')
    .split(/\r\n|\n|\r/)
    .entries()) {
    const line = i + 1;
    const content = raw.trim();
    if (content === '') {
      forget();
      continue;
    }
    if (content.startsWith('#')) {
      const mark = annotationMark.exec(content);
      if (mark !== null) annotation = readAnnotation(mark[1] as string);
      else comment = content.replace(/^#+\s*/, '');
      continue;
    }
    const pair = environment.exec(content);
    if (pair !== null) {
      env = { ...env, [unquoted(pair[1] as string)]: unquoted((pair[2] as string).trim()) };
      continue;
    }
    const read = readEntry(content.replace(unlogged, ''), hasUser);
    const isUnlogged = unlogged.test(content);
    if (typeof read === 'string') problems.push({ line, text: content, message: read });
    else entries.push({ line, text: content, ...read, isUnlogged, env, comment, annotation });
    forget();
  }
  return { entries, problems };
}

function readEntry(
  content: string,
  hasUser: boolean,
): Pick<CrontabEntry, 'when' | 'user' | 'command' | 'stdin' | 'flags'> | string {
  const split = content.startsWith('@') ? macro.exec(content) : fields.exec(content);
  if (split === null) return 'It has neither five fields and a command, nor a name and a value.';
  const when = (split[1] as string).replace(/\s+/g, ' ');
  let rest = split[2] as string;
  let user: string | null = null;
  if (hasUser) {
    const named = /^(\S+)\s+(.*)$/.exec(rest);
    if (named === null) return 'It names a user and no command, or a command and no user.';
    // The BSDs have a group and a login class behind it.
    user = (named[1] as string).replace(/[:/].*$/, '');
    rest = named[2] as string;
  }
  const flagged = /^-([nqs]+)\s+((?:-[nqs]+\s+)*)(.*)$/.exec(rest);
  const flags = flagged === null ? '' : `${flagged[1]}${(flagged[2] as string).replace(/[-\s]/g, '')}`;
  if (flagged !== null) rest = flagged[3] as string;
  const { command, stdin } = splitPercent(rest);
  if (command.trim() === '') return 'There is no command.';
  return { when, user, command: command.trim(), stdin, flags };
}

/** The first bare `%` ends the command, and every other one is a line end of its input; `\%` is a percent sign. */
export function splitPercent(text: string): { command: string; stdin: string | null } {
  const parts: string[] = [''];
  for (let i = 0; i < text.length; i++) {
    const character = text[i] as string;
    if (character === '\\' && text[i + 1] === '%') {
      parts[parts.length - 1] += '%';
      i++;
    } else if (character === '%') parts.push('');
    else parts[parts.length - 1] += character;
  }
  const [command = '', ...input] = parts;
  return { command, stdin: input.length === 0 ? null : `${input.join('\n')}\n` };
}

function unquoted(text: string): string {
  const quote = text[0];
  const isQuoted = text.length >= 2 && (quote === '"' || quote === "'") && text.endsWith(quote);
  return isQuoted ? text.slice(1, -1) : text;
}

function readAnnotation(text: string): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : null;
  } catch {
    return null;
  }
}
