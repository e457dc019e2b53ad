import { Check, Copy } from 'lucide-react';
import { useState } from 'react';
import { IconButton } from './button.tsx';

/** A JSON value as text: whatever is in it stays text. */
export function JsonView({ value }: { value: unknown }) {
  const text = typeof value === 'string' ? value : (JSON.stringify(value, null, 2) ?? 'null');
  const [isCopied, setCopied] = useState(false);
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
        {text}
      </pre>
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
