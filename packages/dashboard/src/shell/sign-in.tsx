import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { placeOf } from '../api/place.ts';
import { Button } from '../ui/button.tsx';

/** For those who have no session, or whose session has ended: a key opens one. */
export function SignIn({ wasIn }: { wasIn: boolean }) {
  const queries = useQueryClient();
  const [key, setKey] = useState('');
  const [problem, setProblem] = useState<string | null>(null);
  const signIn = async () => {
    const response = await fetch(placeOf('api/session'), {
      method: 'POST',
      headers: { authorization: `Bearer ${key.trim()}`, 'content-type': 'application/json' },
      body: '{}',
    }).catch(() => null);
    if (response?.ok) {
      setKey('');
      await queries.resetQueries();
    } else {
      setProblem(response === null ? 'The server cannot be reached.' : 'The server does not know this key.');
    }
  };
  return (
    <main className="mx-auto flex min-h-dvh max-w-md flex-col justify-center px-4">
      <h1 className="text-xl font-semibold">Duly</h1>
      {wasIn && (
        <p
          role="status"
          className="mt-2 rounded-lg border border-warn/40 bg-warn-soft px-3 py-2 text-sm text-warn"
        >
          The session is over: it has expired, or its key was revoked.
        </p>
      )}
      <p className="mt-1 text-sm text-ink-soft">
        The dashboard needs a key. <code className="font-mono">duly up</code> prints an address with one in
        it; <code className="font-mono">duly keys add</code> creates another.
      </p>
      <form
        className="mt-4 flex flex-col gap-2"
        onSubmit={(event) => {
          event.preventDefault();
          void signIn();
        }}
      >
        <label className="text-sm font-medium" htmlFor="key">
          Key
        </label>
        <input
          id="key"
          type="password"
          autoComplete="off"
          value={key}
          onChange={(event) => setKey(event.target.value)}
          placeholder="duly_…"
          className="h-9 rounded-md border border-line-strong bg-surface px-3 font-mono text-sm"
        />
        {problem !== null && (
          <p role="alert" className="text-sm text-bad">
            {problem}
          </p>
        )}
        <Button kind="primary" type="submit" disabled={key.trim() === ''}>
          Sign in
        </Button>
      </form>
    </main>
  );
}
