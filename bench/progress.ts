/** Tells what is going on: a line that is written over on a terminal, a line for each measure elsewhere. */
export interface Progress {
  /** A measure begins. */
  begin(title: string): void;
  /** What it does now. */
  step(text: string): void;
  /** It is over. */
  end(text: string): void;
}

/** Makes a progress on stderr, so that the table alone is on stdout. */
export function createProgress(out: NodeJS.WriteStream = process.stderr): Progress {
  let title = '';
  let beganAt = 0;
  const seconds = () => `${((performance.now() - beganAt) / 1_000).toFixed(1)} s`;
  const rewrite = (text: string) => {
    if (out.isTTY) out.write(`\r\u001b[2K${text.slice(0, (out.columns ?? 80) - 1)}`);
  };
  return {
    begin(text) {
      title = text;
      beganAt = performance.now();
      rewrite(title);
    },
    step(text) {
      rewrite(`${title}: ${text}`);
    },
    end(text) {
      rewrite('');
      out.write(`${title}: ${text} (${seconds()})\n`);
    },
  };
}
