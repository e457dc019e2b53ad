const semver = /^v?(\d+\.\d+\.\d+)(?:-([0-9a-z.-]+))?(?:\+.*)?$/i;
// Numbers inside a text are compared as numbers: release 10 comes after release 9. Made when it is first needed: it takes 8 ms, and most
// processes compare no releases.
let natural: Intl.Collator | undefined;

/**
 * Which of two releases is the older one: below 0 the first, above 0 the second, 0 when they are the same. Versions like `1.10.0`
 * by semver's order (`1.10.0-rc.1` comes before `1.10.0`), anything else (`2027-01-15`, `build-412`) by its numbers and letters.
 */
export function compareReleases(one: string, other: string): number {
  natural ??= new Intl.Collator('en', { numeric: true });
  const [a, b] = [semver.exec(one), semver.exec(other)];
  if (a === null || b === null) return natural.compare(one, other);
  const byNumber = natural.compare(a[1] as string, b[1] as string);
  if (byNumber !== 0) return byNumber;
  if (a[2] === b[2]) return 0;
  // A version without a suffix is the finished one.
  if (a[2] === undefined) return 1;
  return b[2] === undefined ? -1 : natural.compare(a[2], b[2]);
}
