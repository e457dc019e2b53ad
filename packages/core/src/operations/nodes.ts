import { dulyError } from '../base/errors.ts';
import { type OptionNames, readName, readOptions, readText, readWholeNumber } from '../base/option-reader.ts';
import type { AuditRow, CountsReply, Engine, NodeInfo, NodesReply } from '../contract/engine.ts';
import { nodeSilentMs } from '../contract/timings.ts';
import { countCap } from '../jobs/jobs.ts';
import { secretKind } from './records.ts';

/** A node as `duly.nodes()` lists it. */
export interface NodeView extends Omit<NodeInfo, 'startedAt'> {
  startedAt: Date;
  heartbeatAt: Date;
  drainRequestedAt: Date | null;
}

/** One action on a job, schedule, record or value, as `duly.audit()` lists it. */
export interface AuditEntry {
  position: number;
  at: Date;
  actor: string;
  action: string;
  subject: string;
  before: unknown;
  after: unknown;
  note: string | null;
}

/** Jobs counted at an instant of the store. A count that was stopped at 10,000 says so. */
export interface Counts extends Pick<CountsReply, 'status' | 'lanes' | 'running'> {
  now: Date;
}

/** Which audit entries. */
export interface AuditOptions {
  /** Only about this, like `job:<id>`. */
  subject?: string;
  /** Entries before this position. */
  before?: number;
  /** 1 to 1000, default 100. */
  limit?: number;
}

const auditNames: OptionNames<AuditOptions> = { subject: true, before: true, limit: true };
// A subject is a kind and an id or the name of a lock, a value or a schedule.
const subjectLengthMax = 3_000;

/** Gives the engine, once the store is open. What is wrong with options is told before it is opened. */
export type OpenEngine = () => Promise<Engine>;

/** See `Duly.counts`. */
export async function readCounts(open: OpenEngine): Promise<Counts> {
  const engine = await open();
  const { now, status, lanes, running } = await engine.counts({ cap: countCap });
  return { now: new Date(now), status, lanes, running };
}

/** See `Duly.nodes`. */
export async function readNodes(open: OpenEngine): Promise<NodeView[]> {
  const engine = await open();
  const { nodes } = await engine.nodes({
    heartbeat: null,
    leave: null,
    drain: null,
    forgetAfterMs: nodeSilentMs,
  });
  return nodes.map(toNodeView);
}

/** See `Duly.drainNode`. */
export async function drainNode(open: OpenEngine, id: string, actor: string): Promise<void> {
  const drain = { id: readName(id, 'id'), actor };
  const engine = await open();
  const { nodes } = await engine.nodes({ heartbeat: null, leave: null, drain, forgetAfterMs: nodeSilentMs });
  if (nodes.some((node) => node.id === id)) return;
  throw dulyError('node_not_found', {
    message: `No node has the id "${id}".`,
    hint: 'Nodes that left, or were silent for 40 s, are not known any more.',
    details: { id },
  });
}

/** See `Duly.audit`. */
export async function readAudit(open: OpenEngine, options?: AuditOptions): Promise<AuditEntry[]> {
  const { subject, before, limit = 100 } = readOptions(options, 'audit()', auditNames);
  const engine = await open();
  const { rows } = await engine.audit({
    subject: subject === undefined ? null : readText(subject, 'subject', { lengthMax: subjectLengthMax }),
    before: before === undefined ? null : readWholeNumber(before, 'before', 0, Number.MAX_SAFE_INTEGER),
    limit: readWholeNumber(limit, 'limit', 1, 1_000),
  });
  return rows.map(toAuditEntry);
}

function toNodeView(node: NodesReply['nodes'][number]): NodeView {
  return {
    ...node,
    startedAt: new Date(node.startedAt),
    heartbeatAt: new Date(node.heartbeatAt),
    drainRequestedAt: node.drainRequestedAt === null ? null : new Date(node.drainRequestedAt),
  };
}

function toAuditEntry(row: AuditRow): AuditEntry {
  const isSecret = row.subject.startsWith(`record:${secretKind}/`);
  const read = (text: string | null): unknown =>
    text === null ? null : isSecret ? '[secret]' : JSON.parse(text);
  return { ...row, at: new Date(row.at), before: read(row.before), after: read(row.after) };
}
