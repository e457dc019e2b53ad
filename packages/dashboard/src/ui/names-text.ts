/** Names as they are typed, with commas between them; none at all is null: it means all. */
export function namesOf(text: string): string[] | null {
  const names = text
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '');
  return names.length === 0 ? null : names;
}

/** The other way round. */
export function namesText(names: readonly string[] | null | undefined): string {
  return names?.join(', ') ?? '';
}
