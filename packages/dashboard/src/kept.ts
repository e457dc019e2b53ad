/** A choice kept in this browser; the first that is valid. Browsers that keep nothing get the default. */
export function kept<Choice extends string>(
  name: string,
  choices: readonly Choice[],
  otherwise: Choice,
): Choice {
  try {
    const found = localStorage.getItem(`duly.${name}`);
    return choices.find((choice) => choice === found) ?? otherwise;
  } catch {
    return otherwise;
  }
}

/** Keeps a choice for the next visit. */
export function keep(name: string, value: string): void {
  try {
    localStorage.setItem(`duly.${name}`, value);
  } catch {
    // Private windows may refuse; the choice then lasts until the page is closed.
  }
}
