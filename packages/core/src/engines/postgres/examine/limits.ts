import { found, ok, type SettingCheck } from '../../shared/setting-check.ts';
import type { ServerFacts } from './server-facts.ts';

// Short statements cost less than this, by the planner's own measure.
const jitCostMin = 10_000;
const frozenAgeMax = 1_000_000_000;

/** Checks what slows the server down over time, and the limits that calls may reach. */
export function limitFindings(facts: ServerFacts): SettingCheck[] {
  const { autovacuum, trackCounts, number, checkInterval, statementMs, connections, connectionMax } = facts;
  const findings: SettingCheck[] = [];
  findings.push(
    autovacuum === 'off' || trackCounts === 'off'
      ? found(
          'warning',
          'autovacuum',
          `${autovacuum === 'off' ? 'autovacuum' : 'track_counts'} is off: rows of jobs that are over stay where claims must step over them, and everything gets slower.`,
          'ALTER SYSTEM SET autovacuum = on; ALTER SYSTEM SET track_counts = on; SELECT pg_reload_conf();',
        )
      : ok('autovacuum', 'autovacuum is on.'),
  );
  if (facts.frozenAge > frozenAgeMax) {
    findings.push(
      found(
        'warning',
        'wraparound',
        `The oldest transaction that was not frozen is ${facts.frozenAge} transactions back; at two thousand million the server stops taking writes.`,
        'Find what holds vacuum back (see "transactions"), then VACUUM FREEZE.',
      ),
    );
  }
  if (connections > connectionMax * 0.8) {
    findings.push(
      found(
        'warning',
        'connections',
        `${connections} of ${connectionMax} connections are in use; when none is left, nodes cannot connect.`,
        'Raise max_connections, lower "?pool=" of the processes, or put a pooler between.',
      ),
    );
  } else findings.push(ok('connections', `${connections} of ${connectionMax} connections are in use.`));
  if (statementMs > 0 && statementMs < 5_000) {
    findings.push(
      found(
        'warning',
        'statement_timeout',
        `statement_timeout is ${statementMs} ms for this role: a large claim or a page of history may be ended before it is done.`,
        "ALTER ROLE <role> SET statement_timeout = '30s'",
      ),
    );
  } else if (statementMs === 0) {
    findings.push(
      found(
        'note',
        'statement_timeout',
        'No statement_timeout: a statement that stalls goes on in the server after its node has given it up (10 s).',
        "ALTER ROLE <role> SET statement_timeout = '30s'",
      ),
    );
  }
  if (facts.jit && (facts.shut !== null || (facts.jitCost >= 0 && facts.jitCost < jitCostMin))) {
    const why = facts.shut === null ? `jit_above_cost = ${facts.jitCost}` : `${facts.shut.join(', ')} = off`;
    findings.push(
      found(
        'warning',
        'jit',
        `With ${why} the server compiles nearly every statement before it runs it: reads of a millisecond take a second.`,
        'ALTER ROLE <role> SET jit = off',
      ),
    );
  }
  if (number >= 140_000 && checkInterval === '0') {
    findings.push(
      found(
        'note',
        'client_connection_check_interval',
        'The server does not look whether a node is still there while it works for it.',
        "ALTER SYSTEM SET client_connection_check_interval = '5s'; SELECT pg_reload_conf();",
      ),
    );
  }
  return findings;
}
