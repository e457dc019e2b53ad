/**
 * Lists as PostgreSQL reads arrays: `{a,b}`. Written here and not by the driver, which looks at every item in ways that cost more than the
 * statement.
 */

const isBare = /^[\w-]+$/;
// What JSON writes with escapes that an array does not know: control characters, and halves of a surrogate pair (which may be whole pairs).
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is looked for.
const isAwkward = /[\u0000-\u001f\ud800-\udfff]/;

/** A text in quotes. Where nothing else is to be escaped JSON does it the same way, at a third of the time. */
const quoted = (text: string): string =>
  isAwkward.test(text) ? `"${text.replaceAll(/["\\]/g, '\\$&')}"` : JSON.stringify(text);

/** Texts; null stands for NULL. */
export function textArray(items: readonly (string | null)[]): string {
  let list = '';
  for (const item of items) {
    if (list !== '') list += ',';
    // Without quotes NULL is no text.
    if (item === null) list += 'NULL';
    else if (item.length > 4 && isBare.test(item)) list += item;
    else list += quoted(item);
  }
  return `{${list}}`;
}

/** Whole numbers; null stands for NULL. */
export function numberArray(items: readonly (number | null)[]): string {
  return `{${items.map((item) => item ?? 'NULL').join(',')}}`;
}
