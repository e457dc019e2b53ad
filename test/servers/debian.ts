// Installs packages of Debian where that is allowed: a fresh machine brings nothing but Node.

import { spawnSync } from 'node:child_process';

/** Whether packages can be installed here: there is apt-get, and whoever runs this may use it. */
export function mayInstall(): boolean {
  return process.getuid?.() === 0 && spawnSync('apt-get', ['--version']).status === 0;
}

/** Installs them; answers whether they are there now. */
export function installPackages(packages: readonly string[]): boolean {
  const apt = (args: readonly string[]) =>
    // Two runs may want to install at once: the second waits for the first.
    spawnSync('apt-get', ['-q', '-o', 'DPkg::Lock::Timeout=120', ...args], {
      env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' },
      stdio: ['ignore', 'ignore', 'inherit'],
      timeout: 300_000,
    }).status === 0;
  const install = () => apt(['install', '-y', '--no-install-recommends', ...packages]);
  return install() || (apt(['update']) && install());
}
