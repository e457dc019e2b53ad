/** `duly run <task> [input]` as a line of a shell; null: it is something else, or says more than that. */
export function dulyRunOf(command: string): { name: string; input?: unknown } | null {
  const words = shellWords(command);
  if (words === null) return null;
  const at = words[0] === 'npx' ? 1 : 0;
  const [program = '', verb, name, input, ...more] = words.slice(at);
  if (program.split('/').at(-1) !== 'duly' || verb !== 'run' || name === undefined || more.length > 0)
    return null;
  if (name.startsWith('-') || input?.startsWith('-')) return null;
  return input === undefined ? { name } : { name, input: valueIn(input) };
}

/** The words of a line without anything that only a shell could tell; null: there is such a thing. */
function shellWords(line: string): string[] | null {
  const words: string[] = [];
  let word: string | null = null;
  for (let i = 0; i < line.length; i++) {
    const character = line[i] as string;
    if (/\s/.test(character)) {
      if (word !== null) words.push(word);
      word = null;
    } else if (character === "'") {
      const end = line.indexOf("'", i + 1);
      if (end === -1) return null;
      word = `${word ?? ''}${line.slice(i + 1, end)}`;
      i = end;
    } else if (character === '\\' && i + 1 < line.length) {
      word = `${word ?? ''}${line[i + 1]}`;
      i++;
    } else if (/[\w./:@%+=,-]/.test(character)) word = `${word ?? ''}${character}`;
    else return null;
  }
  if (word !== null) words.push(word);
  return words;
}

function valueIn(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
