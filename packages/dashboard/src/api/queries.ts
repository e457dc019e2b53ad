import { MutationCache, QueryCache, QueryClient } from '@tanstack/react-query';
import { isPassing, isUnauthorized } from './request.ts';

/** Whose session it is; read again when the server turns out not to know the caller any more. */
export const sessionKey = ['session'] as const;

/** What was read of the server, and how it is read again. */
export function createQueries(): QueryClient {
  const whoAmI = (error: unknown) => {
    if (isUnauthorized(error)) void queries.invalidateQueries({ queryKey: sessionKey });
  };
  const queries = new QueryClient({
    queryCache: new QueryCache({
      onError: (error, { queryKey }) => {
        if (queryKey[0] !== sessionKey[0]) whoAmI(error);
      },
    }),
    mutationCache: new MutationCache({ onError: whoAmI }),
    defaultOptions: {
      queries: {
        // What the server refuses it refuses again; a server or a store that is away comes back.
        retry: (_count, error) => isPassing(error),
        retryDelay: 2_000,
        staleTime: 500,
        refetchOnWindowFocus: true,
        // The server may be on this machine: a browser without a network reaches it all the same.
        networkMode: 'always',
      },
      mutations: { networkMode: 'always' },
    },
  });
  return queries;
}
