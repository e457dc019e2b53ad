import { DatabaseSync } from 'node:sqlite';

/** What must be added to the monotonic clock to have the store's time: the file keeps it for each boot of the machine. */
export async function readStoreOffset(url: string): Promise<number> {
  const db = new DatabaseSync(url.slice('sqlite:'.length), { readOnly: true });
  const row = db.prepare('SELECT offset_ms FROM clocks ORDER BY seen_at DESC LIMIT 1').get() as {
    offset_ms: number;
  };
  db.close();
  return row.offset_ms;
}
