import type { ReactNode } from 'react';

/** A small table. Wide ones scroll by themselves, so that the page never does; on a phone each row stands as a list of its cells, with their names. */
export function Table({
  head,
  children,
  label,
  widths,
}: {
  /** The names of the columns; an empty one is that of the actions on a row, named for screen readers only. */
  head: readonly ReactNode[];
  children: ReactNode;
  label: string;
  /** How wide columns are, where they must not follow from the rows that happen to be there. */
  widths?: readonly string[];
}) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a place that scrolls must be reachable by keyboard
    <section className="overflow-x-auto" aria-label={label} tabIndex={0}>
      <table
        className={`stacked w-full text-sm ${widths === undefined ? '' : 'table-fixed'}`}
        style={Object.fromEntries(
          head.map((name, at) => [
            `--head-${at + 1}`,
            typeof name === 'string' ? JSON.stringify(name) : '""',
          ]),
        )}
      >
        <thead>
          <tr className="border-b border-line text-left text-xs text-ink-faint">
            {head.map((name, at) => (
              <th
                // biome-ignore lint/suspicious/noArrayIndexKey: columns do not move
                key={at}
                scope="col"
                className="px-4 py-2 font-medium whitespace-nowrap"
                style={widths === undefined ? undefined : { width: widths[at] }}
              >
                {name === '' ? <span className="sr-only">Actions</span> : name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody className="divide-y divide-line">{children}</tbody>
      </table>
    </section>
  );
}

/** A cell. What is in it is one box, so that on a phone it stands beside the name of its column. */
export function Cell({
  children,
  className,
  isLong = false,
}: {
  children: ReactNode;
  className?: string;
  /** A name or a text that may have no place to break. */
  isLong?: boolean;
}) {
  return (
    <td className={`px-4 py-2.5 align-top max-sm:py-1 ${className ?? ''}`}>
      <div className={isLong ? 'wrap-anywhere sm:min-w-24 lg:min-w-36' : undefined}>{children}</div>
    </td>
  );
}
