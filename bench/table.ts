import { judge, type PeerFigure, type Result, type Unit } from './result.ts';

/** A figure as people read it: three digits that count, thousands apart. */
export function formatFigure(value: number | null, unit: Unit): string {
  if (value === null || Number.isNaN(value)) return '–';
  const size = Math.abs(value);
  const digits = size >= 100 ? 0 : size >= 10 ? 1 : size >= 1 ? 2 : 3;
  const text = value.toLocaleString('en-US', { minimumFractionDigits: 0, maximumFractionDigits: digits });
  const suffix: Record<Unit, string> = {
    'per second': '/s',
    ms: ' ms',
    s: ' s',
    '%': ' %',
    MB: ' MB',
    '×': '×',
    jobs: '',
  };
  return `${text}${suffix[unit]}`;
}

function formatPeers(peers: readonly PeerFigure[], unit: Unit): string {
  if (peers.length === 0) return '–';
  return peers
    .map(
      ({ name, value, note }) =>
        `${name} ${value === null ? `(${note ?? 'no figure'})` : formatFigure(value, unit)}`,
    )
    .join(', ');
}

const headings = ['measure', 'Duly', 'bare', 'ratio', 'peers', 'target', ''];

/** The table of ratios, one line for each result. */
export function formatTable(results: readonly Result[]): string {
  const lines = results.map((result) => [
    result.title,
    formatFigure(result.duly, result.unit),
    formatFigure(result.bare, result.unit),
    result.ratio === null ? '–' : result.ratio.toFixed(2),
    formatPeers(result.peers, result.unit),
    result.target?.text ?? '–',
    {
      pass: 'pass',
      short: 'SHORT',
      'no target': '',
      'not measured': 'not measured',
      'not judged': `not judged ${result.target?.notJudged}`,
    }[judge(result)],
  ]);
  const widths = headings.map((heading, column) =>
    Math.max(heading.length, ...lines.map((line) => (line[column] as string).length)),
  );
  // Figures stand to the right, words to the left.
  const isFigure = (column: number) => column >= 1 && column <= 3;
  const row = (cells: readonly string[]) =>
    cells
      .map((cell, column) =>
        isFigure(column) ? cell.padStart(widths[column] as number) : cell.padEnd(widths[column] as number),
      )
      .join('  ')
      .trimEnd();
  return [row(headings), widths.map((width) => '─'.repeat(width)).join('  '), ...lines.map(row)].join('\n');
}

/** The last lines: which targets were reached and which were not. */
export function formatVerdicts(results: readonly Result[]): string {
  const judged = results.filter((result) => !['no target', 'not judged'].includes(judge(result)));
  const of = (verdict: string) => judged.filter((result) => judge(result) === verdict);
  const short = of('short').map(
    (result) => `  short: ${result.title}: ${result.target?.text}, ${figureOf(result)}`,
  );
  const unknown = of('not measured').map((result) => `  not measured: ${result.title}`);
  return [`Targets: ${of('pass').length} of ${judged.length} reached.`, ...short, ...unknown].join('\n');
}

function figureOf({ target, ratio, duly, unit }: Result): string {
  return target?.of === 'ratio' ? `is ${ratio?.toFixed(2)} of bare` : `is ${formatFigure(duly, unit)}`;
}
