import { cut, type Style, type Terminal, widthOf } from './terminal.ts';

/** One cell: a text, or a text with a style. */
export type Cell = string | { text: string; style: Style | Style[] };

/** One column. */
export interface Column {
  title: string;
  align?: 'left' | 'right';
  /** Is cut first when the terminal is too narrow. The others are never cut: ids must be copyable whole. */
  flexible?: boolean;
}

const gap = '  ';
// A flexible column is never cut below this; then the lines wrap.
const flexibleWidthMin = 12;

/** Prints rows under their titles, aligned. */
export function printTable(
  out: Terminal,
  columns: readonly Column[],
  rows: readonly (readonly Cell[])[],
): void {
  const widths = columns.map((column, i) =>
    Math.max(column.title.length, ...rows.map((row) => widthOf(textOf(row[i])))),
  );
  shrink(widths, columns, out.columns());
  const line = (cells: readonly Cell[], style?: Style): string =>
    columns
      .map((column, i) => {
        const cell = cells[i] ?? '';
        const width = widths[i] as number;
        const isLast = i === columns.length - 1;
        const text = column.flexible ? cut(textOf(cell), width) : textOf(cell);
        const padded = column.align === 'right' ? text.padStart(width) : isLast ? text : text.padEnd(width);
        const painted = style ?? (typeof cell === 'string' ? undefined : cell.style);
        return painted === undefined ? padded : out.paint(painted, padded);
      })
      .join(gap)
      .trimEnd();
  out.line(
    line(
      columns.map((column) => column.title),
      'dim',
    ),
  );
  for (const row of rows) out.line(line(row));
}

function shrink(widths: number[], columns: readonly Column[], available: number): void {
  const total = (): number =>
    widths.reduce((sum, width) => sum + width, 0) + gap.length * (widths.length - 1);
  for (let i = columns.length - 1; i >= 0; i--) {
    const over = total() - available;
    if (over <= 0) return;
    if (columns[i]?.flexible) widths[i] = Math.max(flexibleWidthMin, (widths[i] as number) - over);
  }
}

function textOf(cell: Cell | undefined): string {
  return cell === undefined ? '' : typeof cell === 'string' ? cell : cell.text;
}
