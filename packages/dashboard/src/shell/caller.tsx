import { allows, type Scope } from '@duly/core/internal/browser';
import { useQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import { sessionKey } from '../api/queries.ts';
import { get } from '../api/request.ts';
import { type PageLink, pageLinks } from './pages.ts';

/** Who looks at the dashboard, as the server sees it. */
export interface Caller {
  actor: string;
  scope: Scope;
  tenant: string | null;
}

/** Asks the server who looks. */
export function useSession() {
  return useQuery({
    queryKey: sessionKey,
    queryFn: ({ signal }) => get<Caller>('api/session', {}, signal),
    staleTime: 60_000,
    // It does not change with what happens in the store.
    meta: { pace: 'own' },
  });
}

/** The caller; undefined until the server has told. */
export function useCaller(): Caller | undefined {
  return useSession().data;
}

/** The pages that the caller may see. */
export function usePageLinks(): PageLink[] {
  const caller = useCaller();
  const scope = caller?.scope ?? 'read';
  const seesAll = caller === undefined || caller.tenant === null;
  return useMemo(
    () => pageLinks.filter((link) => allows(scope, link.scope) && (seesAll || link.isOfStore !== true)),
    [scope, seesAll],
  );
}

/** Whether the caller sees the whole store, and not one tenant's part of it. */
export function useSeesAll(): boolean {
  return useCaller()?.tenant === null;
}

/** Whether the caller may do this. What a key may not do is not shown. */
export function useMay(scope: Scope): boolean {
  const caller = useCaller();
  return caller !== undefined && allows(caller.scope, scope);
}
