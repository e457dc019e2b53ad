/** How a schedule stands in a table of any SQL store, and how the contract has it. */
import type { ScheduleRecord } from '../../contract/engine.ts';

/** The columns that every SQL store has for a schedule. */
export interface ScheduleColumns {
  id: string;
  app: string | null;
  tenant: string | null;
  name: string;
  generation: number;
  version: number;
  spec: string;
  state: string;
  due_at: number | null;
  waits_for: string | null;
  created_at: number;
  updated_at: number;
}

/** A row as the contract has it. */
export function toScheduleRecord(row: ScheduleColumns): ScheduleRecord {
  return {
    id: row.id,
    app: row.app,
    tenant: row.tenant,
    name: row.name,
    generation: row.generation,
    version: row.version,
    spec: row.spec,
    state: row.state,
    dueAt: row.due_at,
    waitsFor: row.waits_for,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  };
}
