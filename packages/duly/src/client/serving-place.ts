import { hostname } from 'node:os';
import type { Duly } from '@duly/core';

// Of the kind that tells where a program stands and is in no audit: it is written at every start.
const kind = 'cursor';
const prefix = 'server/';

interface Place {
  url: string;
  host: string;
  pid: number;
}

/**
 * Writes down where this process serves the dashboard, for commands that work at the store. It counts as long as a node of the process lives, so nobody has to take it
 * back; what processes wrote that are gone is removed.
 */
export async function publishServingPlace(duly: Duly, url: string): Promise<void> {
  const { places, isLive } = await readPlaces(duly);
  for (const { key, value } of places) if (!isLive(value)) await duly.records.delete(kind, key);
  const place: Place = { url, host: hostname(), pid: process.pid };
  await duly.records.put(kind, `${prefix}${place.host}:${place.pid}`, place);
}

/** Where the dashboard of this store is served so that this machine can reach it; null: nobody has told. */
export async function readServingPlace(duly: Duly): Promise<string | null> {
  const { places, isLive } = await readPlaces(duly);
  const reachable = places.find(
    ({ value }) => isLive(value) && (value.host === hostname() || !isLoopback(value.url)),
  );
  return reachable?.value.url ?? null;
}

async function readPlaces(duly: Duly) {
  const [records, nodes] = await Promise.all([
    duly.records.list<Place>(kind, { after: prefix }),
    duly.nodes(),
  ]);
  const places = records.filter(({ key }) => key.startsWith(prefix));
  const isLive = ({ host, pid }: Place): boolean =>
    nodes.some((node) => node.host === host && node.pid === pid);
  return { places, isLive };
}

function isLoopback(url: string): boolean {
  const { hostname: name } = new URL(url);
  return name === 'localhost' || name === '[::1]' || name.startsWith('127.');
}
