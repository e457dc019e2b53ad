/** Histories for people: one short line per event, and only those that matter. */
import { type Evidence, type HistoryEvent, subjectsOf } from '../history.ts';

/** The events about these jobs, schedules and locks, and about nodes and faults, as lines; long histories lose their middle. */
export function trace({ events, final }: Evidence, subjects: readonly string[], lineCountMax = 80): string[] {
  const wanted = new Set(subjects);
  const names = new Map(final.schedules.map(({ id, name }) => [id, name]));
  const lines = events
    .filter((event) => isAbout(event, wanted))
    .map((event) => {
      let text = describe(event);
      for (const [id, name] of names) text = text.replaceAll(id, name);
      return text;
    });
  if (lines.length <= lineCountMax) return lines;
  const half = Math.floor(lineCountMax / 2);
  const left = lines.length - 2 * half;
  return [...lines.slice(0, half), `… ${left} more lines; all of them with --trace …`, ...lines.slice(-half)];
}

/** One event in a line. */
export function describe(event: HistoryEvent): string {
  return `${at(event.at)}  ${event.node.padEnd(3)}  ${words(event)}`;
}

function isAbout(event: HistoryEvent, wanted: ReadonlySet<string>): boolean {
  if (event.kind === 'node') return true;
  if (event.kind === 'fault') return event.node === '*' || event.fault === 'reply-lost';
  // A heartbeat that changed nothing tells nothing.
  if (event.kind === 'renewed' && event.state === 'kept' && !event.begun) return false;
  return subjectsOf(event).some((subject) => wanted.has(subject));
}

function words(event: HistoryEvent): string {
  switch (event.kind) {
    case 'asked':
      return `asks ${event.what} (call ${event.call})${event.subject === null ? '' : ` of ${event.subject}`}`;
    case 'answered':
      return `is told ${event.outcome}${event.code === undefined ? '' : ` ${event.code}`} (call ${event.call}, ${event.what}) ${event.subject ?? ''}`;
    case 'created':
      return `created ${event.jobs.map(({ id, type, dueAt }) => `${id} (${type}, due ${at(dueAt)})`).join(', ')}`;
    case 'claimed':
      return `claimed ${event.id} attempt ${event.attempt}, fence ${event.fence}, until ${at(event.untilAt)}`;
    case 'reaped':
      return `reaped ${event.id} attempt ${event.attempt}, fence ${event.fence}${event.begun ? ', begun' : ''}`;
    case 'renewed':
      return `renewed ${event.id}, fence ${event.fence}${event.begun ? ', begun' : ''}: ${event.state}`;
    case 'began':
      return `began ${event.id} attempt ${event.attempt}, fence ${event.fence}`;
    case 'ended':
      return `ended ${event.id} attempt ${event.attempt}, fence ${event.fence}: ${event.how}`;
    case 'aborted':
      return `is told to stop ${event.id}, fence ${event.fence}: ${event.reason}`;
    case 'settled':
      return `settled ${event.id}, fence ${event.fence}, ${event.to} (${event.reason})${event.repeat ? ' again' : ''}: ${event.result}`;
    case 'changed':
      return `${event.verb} ${event.id}: ${event.result}`;
    case 'reported':
      return `reports ${event.id}, fence ${event.fence}: ${event.result}`;
    case 'claimsPaused':
      return `${event.state} ${event.target}${event.untilAt === null ? '' : ` until ${at(event.untilAt)}`}`;
    case 'valued':
      return `${event.op} value ${event.name}/${event.key}: ${event.result}, ends ${at(event.expiresAt)}${event.cleanupId === null ? '' : ` (${event.cleanupId})`}`;
    case 'remembered':
      return `journal ${event.scope}/${event.key}: ${event.result} ${event.value ?? ''}`;
    case 'once':
      return `once ${event.key}: ${event.state} ${event.value}`;
    case 'transacted':
      return `transaction ${event.tx} ${event.state} ${event.ids.join(', ')}`;
    case 'ownTransaction':
      return `has a transaction of its own: ${event.state}`;
    case 'scheduleClaimed':
      return `looks at ${event.scheduleId}, fence ${event.fence}, version ${event.version}`;
    case 'scheduleRead':
      return `reads ${event.scheduleId}, version ${event.version ?? 'none'}`;
    case 'fired':
      return `decides ${event.scheduleId}, fence ${event.fence}: ${event.result} ${decided(event.slots)}, due again ${at(event.dueAt)}`;
    case 'applied':
      return `${event.action} ${event.scheduleId} over version ${event.expectVersion ?? 'none'}: ${event.result} ${decided(event.slots)}, due ${at(event.dueAt)}${event.spec === null ? '' : ` ${ruleOf(event.spec)}`}`;
    case 'locked':
      return `${event.verb} ${event.name}, fence ${event.fence}: ${event.result}`;
    case 'node':
      return `${event.state}${event.where === undefined ? '' : ` ${event.where}`}`;
    case 'health':
      return `says (${event.of}) ${event.isBad ? `that it is not well: ${event.reasons.join(' ')}` : 'that it is well'}`;
    case 'fault':
      return `! ${event.fault}${event.detail === undefined ? '' : ` (${event.detail})`}${event.untilAt === undefined ? '' : ` until ${at(event.untilAt)}`}`;
  }
}

function decided(slots: Extract<HistoryEvent, { kind: 'fired' }>['slots']): string {
  const rows = slots.map(({ fromAt, toAt, decision, reason, jobId }) => {
    const range = fromAt === toAt ? at(fromAt) : `${at(fromAt)} … ${at(toAt)}`;
    return `${range} ${decision}${reason === null ? '' : `: ${reason}`}${jobId === null ? '' : ` → ${jobId}`}`;
  });
  return `[${rows.join('; ')}]`;
}

function ruleOf(spec: string): string {
  const { rule, written } = JSON.parse(spec) as {
    rule: Record<string, unknown>;
    written: Record<string, unknown>;
  };
  const { timezone: _timezone, dst: _dst, ...rest } = rule;
  return JSON.stringify({ ...rest, ...written });
}

function at(instant: number | null): string {
  return instant === null ? 'never' : new Date(instant).toISOString().slice(11, 23);
}
