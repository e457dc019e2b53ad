// Read by Nodes that Duly does not run on: it imports nothing and says nothing in newer words than they know.

/** The oldest Node that Duly runs on, as `engines` of package.json has it. */
export const oldestNode = '22.18';

/** What to say on a Node of this version that is too old; null: it will do. */
export function refuseOldNode(version: string, path: string): string | null {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  const [oldestMajor = 0, oldestMinor = 0] = oldestNode.split('.').map(Number);
  if (major > oldestMajor || (major === oldestMajor && minor >= oldestMinor)) return null;
  return (
    `error[node_unsupported]: Duly needs Node ${oldestNode} or newer, and "${path}" is Node ${version}.\n` +
    'hint: Install a newer Node, from https://nodejs.org or with a version manager, and call the command again.\n'
  );
}
