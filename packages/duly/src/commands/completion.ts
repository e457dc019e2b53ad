import type { Command } from 'commander';
import type { CommandContext, CommandRun, CommonOptions } from '../cli/context.ts';
import { didYouMean, usageError } from '../cli/usage.ts';

const shells = ['bash', 'zsh', 'fish'] as const;

/** `duly completion`: a script for a shell, made of the tree of commands. */
export function completionOf(program: Command): CommandRun {
  return async ({ out }: CommandContext, _options: CommonOptions, name: string) => {
    const shell = shells.find((one) => one === name);
    if (shell === undefined) {
      throw usageError(`Expected bash, zsh or fish, got "${name.slice(0, 40)}".${didYouMean(name, shells)}`);
    }
    out.write({ bash, zsh, fish }[shell](wordsOf(program)));
    return undefined;
  };
}

/** What may follow a command, by its words: `''` is `duly` itself. */
interface Words {
  path: string;
  commands: { name: string; description: string }[];
  options: { name: string; description: string }[];
}

function wordsOf(command: Command, path = ''): Words[] {
  const commands = command.commands.filter((one) => one.name() !== 'help');
  const own: Words = {
    path,
    commands: commands.map((one) => ({ name: one.name(), description: one.description() })),
    options: command.options.flatMap(({ long, description }) =>
      long == null ? [] : [{ name: long, description }],
    ),
  };
  return [own, ...commands.flatMap((one) => wordsOf(one, `${path} ${one.name()}`.trim()))];
}

const all = ({ commands, options }: Words): string =>
  [...commands, ...options].map(({ name }) => name).join(' ');

/** The commands as a pattern of `case`. */
function patternOf(words: Words[]): string {
  return words
    .filter(({ path }) => path !== '')
    .map(({ path }) => `'${path}'`)
    .join('|');
}

function bash(words: Words[]): string {
  return `# bash completion of duly. In ~/.bashrc: source <(duly completion bash)
_duly() {
  local word path="" next
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    [[ $word == -* ]] && continue
    next="\${path:+$path }$word"
    case "$next" in
      ${patternOf(words)}) path="$next" ;;
    esac
  done
  local words=""
  case "$path" in
${words.map((one) => `    '${one.path}') words='${all(one)}' ;;`).join('\n')}
  esac
  COMPREPLY=($(compgen -W "$words" -- "\${COMP_WORDS[COMP_CWORD]}"))
  # Whatever is no word of the command may be a file.
  [[ \${#COMPREPLY[@]} -eq 0 ]] && COMPREPLY=($(compgen -f -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -F _duly duly
`;
}

function zsh(words: Words[]): string {
  const quoted = (text: string): string => text.replaceAll("'", "'\\''").replaceAll(':', '\\:');
  const list = ({ commands, options }: Words): string =>
    [...commands, ...options].map(({ name, description }) => `'${name}:${quoted(description)}'`).join(' ');
  return `#compdef duly
# zsh completion of duly. In ~/.zshrc, after compinit: source <(duly completion zsh)
_duly() {
  # Not "path": zsh keeps the folders of programs in it.
  local line="" word next
  for word in "\${(@)words[2,CURRENT-1]}"; do
    [[ $word == -* ]] && continue
    next="\${line:+$line }$word"
    case "$next" in
      ${patternOf(words)}) line="$next" ;;
    esac
  done
  local -a found
  case "$line" in
${words.map((one) => `    '${one.path}') found=(${list(one)}) ;;`).join('\n')}
  esac
  _describe 'duly' found || _files
}
compdef _duly duly
`;
}

function fish(words: Words[]): string {
  const quoted = (text: string): string => `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;
  const lines = words.flatMap(({ path, commands, options }) => [
    ...commands.map(
      ({ name, description }) =>
        `complete -c duly -f -n '__duly_at "${path}"' -a ${name} -d ${quoted(description)}`,
    ),
    ...options.map(
      ({ name, description }) =>
        `complete -c duly -n '__duly_at "${path}"' -l ${name.slice(2)} -d ${quoted(description)}`,
    ),
  ]);
  return `# fish completion of duly: duly completion fish > ~/.config/fish/completions/duly.fish
function __duly_at
  set -l line ""
  for word in (commandline -opc)[2..]
    string match -q -- '-*' $word; and continue
    set -l next (string trim -- "$line $word")
    contains -- $next ${words
      .filter(({ path }) => path !== '')
      .map(({ path }) => quoted(path))
      .join(' ')}; and set line $next
  end
  test "$line" = "$argv[1]"
end
${lines.join('\n')}
`;
}
