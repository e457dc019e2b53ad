import { cut, pad, type Style, type Terminal, widthOf } from './terminal.ts';

/** One cell: a text, or a text with a style. */
export type Cell = string | { text: string; style: Style | Style[] };

/** One column. */
export interface Column {
  title: string;
  align?: 'left' | 'right';
  /** May be cut to this many cells when the terminal is too narrow. Others are never cut: ids must be copyable whole. */
  widthMin?: number;
  /** May be cut, to 12 cells. */
  flexible?: boolean;
  /** May be left out when cutting was not enough; the smallest number goes first. */
  leaveOut?: number;
}

const gap = '  ';
const flexibleWidthMin = 12;

/** Prints rows under their titles, aligned. On a narrow terminal columns are cut, then left out; no row wraps while that helps. */
export function printTable(
  out: Terminal,
  columns: readonly Column[],
  rows: readonly (readonly Cell[])[],
): void {
  const fitted = fit(
    columns.map((column, i) => ({
      column,
      i,
      width: Math.max(column.title.length, ...rows.map((row) => widthOf(textOf(row[i])))),
    })),
    out.columns(),
  );
  const line = (cells: readonly Cell[], style?: Style): string =>
    fitted
      .map(({ column, i, width }, at) => {
        const cell = cells[i] ?? '';
        const text = widthMinOf(column) === undefined ? textOf(cell) : cut(textOf(cell), width);
        const isLast = at === fitted.length - 1;
        const padded = isLast && column.align !== 'right' ? text : pad(text, width, column.align);
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

interface Fitted {
  column: Column;
  i: number;
  width: number;
}

function fit(all: readonly Fitted[], available: number): Fitted[] {
  let visible = [...all];
  for (;;) {
    const shrunk = shrink(visible, available);
    if (totalOf(shrunk) <= available) return shrunk;
    const out = visible
      .filter(({ column }) => column.leaveOut !== undefined)
      .sort((one, other) => (one.column.leaveOut as number) - (other.column.leaveOut as number))[0];
    if (out === undefined) return shrunk;
    visible = visible.filter((one) => one !== out);
  }
}

/** The last columns are cut first: what stands there is told in full elsewhere. */
function shrink(columns: readonly Fitted[], available: number): Fitted[] {
  let over = totalOf(columns) - available;
  return columns
    .toReversed()
    .map((one) => {
      const widthMin = widthMinOf(one.column);
      if (over <= 0 || widthMin === undefined) return one;
      const width = Math.min(one.width, Math.max(widthMin, one.width - over));
      over -= one.width - width;
      return { ...one, width };
    })
    .toReversed();
}

function widthMinOf({ widthMin, flexible }: Column): number | undefined {
  return widthMin ?? (flexible ? flexibleWidthMin : undefined);
}

function totalOf(columns: readonly Fitted[]): number {
  return columns.reduce((sum, { width }) => sum + width, 0) + gap.length * (columns.length - 1);
}

function textOf(cell: Cell | undefined): string {
  return cell === undefined ? '' : typeof cell === 'string' ? cell : cell.text;
}
