/** A choice stored in this browser, or the default if it is missing or invalid. */
export function readSetting<Choice extends string>(
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

/** Stores a choice for the next visit. */
export function saveSetting(name: string, value: string): void {
  try {
    localStorage.setItem(`duly.${name}`, value);
  } catch {
    // Private windows may refuse; the choice then lasts until the page is closed.
  }
}
