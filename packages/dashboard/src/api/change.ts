import { type UseMutationOptions, type UseMutationResult, useMutation } from '@tanstack/react-query';
import { useRef } from 'react';

/**
 * `useMutation` without double sends: a call with the variables of one in flight is dropped. A second click can arrive before React has
 * disabled the button.
 */
export function useChange<Result, Variables = void>(
  options: UseMutationOptions<Result, Error, Variables> & {
    mutationFn: (variables: Variables) => Promise<Result>;
  },
): UseMutationResult<Result, Error, Variables> {
  const inFlight = useRef(new Set<string>());
  const mutation = useMutation<Result, Error, Variables>({
    ...options,
    mutationFn: (variables) =>
      options.mutationFn(variables).finally(() => inFlight.current.delete(keyOf(variables))),
  });
  return {
    ...mutation,
    mutate: (...call) => {
      const key = keyOf(call[0]);
      if (inFlight.current.has(key)) return;
      inFlight.current.add(key);
      mutation.mutate(...call);
    },
  };
}

function keyOf(variables: unknown): string {
  return JSON.stringify(variables) ?? '';
}
