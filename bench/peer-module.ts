/**
 * Loads a peer's module. By a name that the compiler does not follow: peers are installed apart, and the checks must not need them.
 */
export async function loadPeer<Module>(name: string): Promise<Module> {
  try {
    return (await import(name)) as Module;
  } catch (error) {
    throw new Error(`${name} cannot be loaded: ${(error as Error).message.split('\n', 1)[0]}`);
  }
}
