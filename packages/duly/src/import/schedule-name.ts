// Programs that only start another one: what they are given is the name that people know.
const wrappers = new Set(
  'nice ionice chronic flock timeout sudo env exec time setsid nohup cronic logger stdbuf systemd-cat runuser su'.split(
    ' ',
  ),
);
const interpreters = /^(python[\d.]*|php[\d.]*|node|ruby|perl|bash|sh|dash|zsh|deno|bun|java|pwsh)$/;
// Of these the next word says what is done.
const dispatchers =
  /^(artisan|manage|rake|npm|npx|yarn|pnpm|make|docker|kubectl|drush|wp|bin|console|rails|bundle|mix|cargo|go|duly|run-parts)$/;
const lengthMax = 60;

/** A name for the schedule of a command: what a person would call it. Lower case, letters, digits and hyphens. */
export function nameOfCommand(command: string): string {
  const words = commandWords(command);
  while (words.length > 1 && isInFront(words[0] as string)) dropFront(words);
  if (words.length > 1 && interpreters.test(baseOf(words[0] as string))) {
    words.shift();
    while (words.length > 1 && (words[0] as string).startsWith('-')) words.shift();
  }
  const first = baseOf(words[0] ?? 'command');
  const parts = [first];
  const url = /^(curl|wget|http)$/.test(first) ? words.find((word) => /^https?:\/\//.test(word)) : undefined;
  if (url !== undefined) parts.push(url.replace(/^https?:\/\//, '').replace(/[?#].*$/, ''));
  const second = words.slice(1).find((word) => /^[A-Za-z./][\w:./-]*$/.test(word) && !word.startsWith('-'));
  if (dispatchers.test(first) && second !== undefined) parts.push(...baseOf(second).split(':'));
  return slug(parts.join('-')) || 'command';
}

// What stands before the program itself: where it runs, and whether.
const preparing = /^(?:\[|(?:cd|test|\.|source|umask|export|sleep|if|fi|while|done)(?:\s|$))/;

/** The words of the part of a line that matters: after `cd somewhere &&`, before a pipe or a redirection. */
function commandWords(command: string): string[] {
  const parts = command
    .split(/\s*(?:&&|;|\|\|)\s*/)
    .map((part) => part.replace(/^(?:[({!]\s*|then\s+|do\s+)+/, '').trim())
    .filter((part) => part !== '' && part !== '}');
  const main = parts.find((part) => !preparing.test(part)) ?? parts.at(-1) ?? '';
  return main
    .split(/\s*[|<>]/)[0]
    ?.trim()
    .replace(/["'()]/g, '')
    .replace(/\s[12&]$/, '')
    .split(/\s+/)
    .filter((word) => word !== '' && word !== '(') as string[];
}

function isInFront(word: string): boolean {
  return /^\w+=/.test(word) || wrappers.has(baseOf(word));
}

/** Takes a wrapper off with its options and what they are given: numbers, lock files. */
function dropFront(words: string[]): void {
  const wrapper = baseOf(words.shift() as string);
  while (words.length > 1 && /^(-|\d+[smhd]?$)/.test(words[0] as string)) {
    const option = words.shift() as string;
    const takes = wrapper === 'sudo' || wrapper === 'runuser' ? /^-[ug]$/ : /^-[nctLwk]$/;
    if (wrapper !== 'flock' && takes.test(option) && words.length > 1) words.shift();
  }
  if (wrapper === 'flock' && words.length > 1) words.shift();
  if (words[0] === '-c' && words.length > 1) words.shift();
}

function baseOf(word: string): string {
  const base = word.replace(/\/+$/, '').split('/').at(-1) as string;
  return base.replace(/\.(sh|bash|py|php|js|mjs|ts|rb|pl|jar)$/, '');
}

function slug(text: string): string {
  return text
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-+|-+$/g, '')
    .slice(0, lengthMax);
}
