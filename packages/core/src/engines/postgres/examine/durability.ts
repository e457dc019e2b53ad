import { found, ok, type SettingCheck } from '../../shared/setting-check.ts';
import type { ServerFacts } from './server-facts.ts';

/** Checks what is lost when the server, or its machine, fails. */
export function durabilityFindings(facts: ServerFacts): SettingCheck[] {
  const { fsync, fullPageWrites, commit, syncNames, syncCount, asyncCount } = facts;
  const findings: SettingCheck[] = [];
  findings.push(
    fsync === 'off'
      ? found(
          'warning',
          'fsync',
          'fsync is off: when the machine loses power, the whole database may be damaged.',
          'ALTER SYSTEM SET fsync = on; SELECT pg_reload_conf();',
        )
      : ok('fsync', 'Commits reach the disk (fsync = on).'),
  );
  if (fullPageWrites === 'off') {
    findings.push(
      found(
        'warning',
        'full_page_writes',
        'full_page_writes is off: a crash in the middle of a write may damage pages, unless the file system writes them whole.',
        'ALTER SYSTEM SET full_page_writes = on; SELECT pg_reload_conf();',
      ),
    );
  }
  if (commit === 'off') {
    findings.push(
      found(
        'warning',
        'synchronous_commit',
        'synchronous_commit is off: when the server crashes, promises of the last moments are lost although they were confirmed.',
        'ALTER ROLE <role> SET synchronous_commit = on',
      ),
    );
  } else if (syncNames !== '' && commit === 'local') {
    findings.push(
      found(
        'warning',
        'synchronous_commit',
        'synchronous_commit is local although there are synchronous standbys: a failover to one of them may lose confirmed promises.',
        'ALTER ROLE <role> SET synchronous_commit = on',
      ),
    );
  } else findings.push(ok('synchronous_commit', `synchronous_commit = ${commit}.`));
  if (syncNames !== '' && syncCount === 0) {
    findings.push(
      found(
        'failing',
        'replication',
        'Commits wait for a synchronous standby, and none is connected, as far as this role may see: every call that writes stands still.',
        'Bring the standby back, or take it out of synchronous_standby_names.',
      ),
    );
  } else if (syncNames === '' && asyncCount > 0) {
    findings.push(
      found(
        'note',
        'replication',
        'The standbys are asynchronous: a failover loses the last commits. Jobs created then are gone, jobs finished then run again, and fences given then may be given again.',
        'For no loss: set synchronous_standby_names.',
      ),
    );
  }
  return findings;
}
