/**
 * Lists as PostgreSQL reads arrays: `{a,b}`. Written here and not by the driver, which looks at every item in ways that cost more than the
 * statement.
 */

const isBare = /^[\w-]+$/;

/** Texts; null stands for NULL. */
export function textArray(items: readonly (string | null)[]): string {
  let list = '';
  for (const item of items) {
    if (list !== '') list += ',';
    // Without quotes NULL is no text.
    if (item === null) list += 'NULL';
    else if (item.length > 4 && isBare.test(item)) list += item;
    else list += `"${item.replaceAll(/["\\]/g, '\\$&')}"`;
  }
  return `{${list}}`;
}

/** Whole numbers; null stands for NULL. */
export function numberArray(items: readonly (number | null)[]): string {
  return `{${items.map((item) => item ?? 'NULL').join(',')}}`;
}
