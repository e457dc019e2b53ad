/** The choices of an option as help lists them, with notes: `skip (default), latest or all`. */
export function choicesText<Choice extends string>(
  choices: readonly Choice[],
  notes: Partial<Record<Choice, string>> = {},
): string {
  const texts = choices.map((choice) => {
    const typed = choice.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
    return notes[choice] === undefined ? typed : `${typed} (${notes[choice]})`;
  });
  return `${texts.slice(0, -1).join(', ')} or ${texts.at(-1)}`;
}
