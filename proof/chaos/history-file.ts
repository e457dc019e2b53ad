import { closeSync, openSync, readdirSync, readFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { type HistoryEvent, mergeHistories, parseHistory } from '../history.ts';

/** A process's own history, a line for each event. What is written survives a kill of the process. */
export interface HistoryFile {
  write(event: HistoryEvent): void;
  close(): void;
}

const ending = '.history.jsonl';

/** Opens the history of a process, in a folder that the fault of a full disk does not reach. */
export function openHistoryFile(folder: string, name: string): HistoryFile {
  const file = openSync(join(folder, `${name}${ending}`), 'a');
  let isClosed = false;
  return {
    write(event) {
      // Whoever ends after the history was read is no part of it.
      if (!isClosed) writeSync(file, `${JSON.stringify(event)}\n`);
    },
    close() {
      isClosed = true;
      closeSync(file);
    },
  };
}

/** The histories of all processes of a folder, as one. */
export function readHistoryFiles(folder: string): HistoryEvent[] {
  const names = readdirSync(folder).filter((name) => name.endsWith(ending));
  return mergeHistories(names.map((name) => parseHistory(readFileSync(join(folder, name), 'utf8'))));
}
