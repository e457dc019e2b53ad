import { useZone } from './zone.tsx';

/** What a typed date and time mean. */
export interface TypedInstants {
  /** Which clock it is, in a sentence. */
  hint: string;
  /** The instant, as the API takes it. */
  read(text: string): string;
}

/** Dates and times are typed by the clock that all others are shown in: with UTC on the whole page, nobody types local time. */
export function useTypedInstants(): TypedInstants {
  const { zone, name } = useZone();
  return {
    hint: zone === 'utc' ? 'In UTC.' : `In your own time zone, ${name}.`,
    read: (text) => new Date(zone === 'utc' ? `${text}Z` : text).toISOString(),
  };
}
