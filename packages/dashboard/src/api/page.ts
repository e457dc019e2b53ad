/** A list in the one shape that all lists of the API have. */
export interface Page<Item> {
  data: Item[];
  has_more: boolean;
  next_cursor: string | null;
}

/** A count that stops at a limit: counting millions would take longer than anybody looks. */
export interface Count {
  count: number;
  capped: boolean;
}

/** `1,234`, or `10,000+` when counting was stopped. */
export function countText({ count, capped }: Count): string {
  return `${count.toLocaleString('en')}${capped ? '+' : ''}`;
}
