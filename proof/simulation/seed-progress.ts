/** How far a range of seeds has come: a line that is written over on a terminal, and nothing elsewhere. */
export interface SeedProgress {
  /** One more was played. */
  step(): void;
  /** Takes the line away. */
  end(): void;
}

/** Makes one; it shows itself at once, for the first seeds may take a while. */
export function createSeedProgress(
  count: number,
  out: { isTTY?: boolean; write(text: string): unknown },
): SeedProgress {
  let playedCount = 0;
  const rewrite = (text: string) => {
    // The cursor stands at its beginning again: whatever else is said, as of a seed that fails, is written over it.
    if (out.isTTY) out.write(`\u001b[2K${text}\r`);
  };
  const show = () => rewrite(`${playedCount} of ${count}`);
  show();
  return {
    step() {
      playedCount++;
      show();
    },
    end: () => rewrite(''),
  };
}
