import { Check, Copy } from 'lucide-react';
import { useState } from 'react';
import { Button, IconButton } from './button.tsx';

/** A browser lays out more than this for longer than anybody waits. */
const shownLength = 20_000;

/** A JSON value as text: whatever is in it stays text. */
export function JsonView({ value }: { value: unknown }) {
  const text = typeof value === 'string' ? value : (JSON.stringify(value, null, 2) ?? 'null');
  const [isCopied, setCopied] = useState(false);
  const [isWhole, setWhole] = useState(false);
  const isCut = !isWhole && text.length > shownLength;
  // Browsers give it to pages over TLS and on this machine only.
  const clipboard = navigator.clipboard as Clipboard | undefined;
  const copy = async () => {
    await clipboard?.writeText(text);
    setCopied(true);
    setTimeout(() => setCopied(false), 1_500);
  };
  return (
    <div className="group relative">
      <pre className="max-h-96 overflow-auto px-4 py-3 font-mono text-xs break-words whitespace-pre-wrap">
        {isCut ? `${text.slice(0, shownLength)}…` : text}
      </pre>
      {isCut && (
        <p className="border-t border-line px-4 py-2">
          <Button kind="quiet" onClick={() => setWhole(true)}>
            Show all {Math.round(text.length / 1_000).toLocaleString('en')} thousand characters
          </Button>
        </p>
      )}
      {clipboard !== undefined && (
        <IconButton
          label="Copy"
          onClick={() => void copy()}
          className="absolute top-1 right-1 opacity-0 group-hover:opacity-100 focus-visible:opacity-100"
        >
          {isCopied ? <Check aria-hidden className="size-4" /> : <Copy aria-hidden className="size-4" />}
        </IconButton>
      )}
    </div>
  );
}
