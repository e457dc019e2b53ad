import type { Count } from '@duly/server/client';

export type { Count } from '@duly/server/client';

/** A list in the one shape that all lists of the API have. */
export interface Page<Item> {
  data: Item[];
  has_more: boolean;
  next_cursor: string | null;
}

/** `1,234`, or `10,000+` when counting was stopped. */
export function countText({ count, capped }: Count): string {
  return `${count.toLocaleString('en')}${capped ? '+' : ''}`;
}
