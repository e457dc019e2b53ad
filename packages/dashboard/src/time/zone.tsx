import { createContext, type ReactNode, useContext, useState } from 'react';
import { readSetting, saveSetting } from '../local-settings.ts';

/** Which clock all times are shown in. */
export type Zone = 'local' | 'utc';

interface ZoneChoice {
  zone: Zone;
  /** The IANA name that `zone` stands for. */
  name: string;
  /** Changes from one clock to the other. */
  switchZone(): void;
}

const here = Intl.DateTimeFormat().resolvedOptions().timeZone;
const ZoneContext = createContext<ZoneChoice>({ zone: 'local', name: here, switchZone: () => {} });

/** The one switch between UTC and the reader's own zone. */
export function ZoneProvider({ children }: { children: ReactNode }) {
  const [zone, set] = useState<Zone>(() => readSetting('zone', ['local', 'utc'] as const, 'local'));
  const switchZone = () => {
    const next = zone === 'utc' ? 'local' : 'utc';
    saveSetting('zone', next);
    set(next);
  };
  const name = zone === 'utc' ? 'UTC' : here;
  return <ZoneContext value={{ zone, name, switchZone }}>{children}</ZoneContext>;
}

/** The zone that times are shown in. */
export function useZone(): ZoneChoice {
  return useContext(ZoneContext);
}
