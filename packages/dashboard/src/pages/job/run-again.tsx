import { useState } from 'react';
import { type Job, useJobAction } from '../../api/jobs.ts';
import { readJsonText } from '../../api/json-text.ts';
import { useSend } from '../../api/operations.ts';
import { Button } from '../../ui/button.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { useToasts } from '../../ui/toast.tsx';

/** A new job like this one, with the same input or another. */
export function RunAgain({ job, onCreated }: { job: Job; onCreated: (id: string) => void }) {
  const again = useJobAction(job.id, 'run-again');
  const edited = useSend<Job>();
  const toasts = useToasts();
  const [text, setText] = useState<string | null>(null);
  const [problem, setProblem] = useState<string | null>(null);

  const runEdited = () => {
    const read = readJsonText(text ?? 'null');
    if ('problem' in read) return setProblem(read.problem);
    const { type, queue, tenant, priority } = job;
    edited.mutate(
      { path: 'api/jobs', body: { type, input: read.value, queue, tenant, priority } },
      {
        onSuccess: ({ id }) => {
          setText(null);
          onCreated(id);
        },
        onError: (error) => setProblem(error.message),
      },
    );
  };

  return (
    <>
      <Button
        disabled={again.isPending}
        onClick={() => again.mutate({}, { onSuccess: ({ id }) => onCreated(id), onError: toasts.complain })}
      >
        Run again
      </Button>
      {/* Duly's own have inputs that nobody writes, shown without their credentials. */}
      {!job.type.startsWith('duly:') && (
        <Button
          onClick={() => {
            setProblem(null);
            setText(JSON.stringify(job.input, null, 2));
          }}
        >
          Edit and run
        </Button>
      )}
      {text !== null && (
        <Dialog
          open
          wide
          onClose={() => setText(null)}
          title={`Run ${job.type} with another input`}
          actions={
            <>
              <Button onClick={() => setText(null)}>Leave it</Button>
              <Button kind="primary" disabled={edited.isPending} onClick={runEdited}>
                Run
              </Button>
            </>
          }
        >
          <label className="block text-sm">
            <span className="mb-1 block text-ink-soft">Input, as JSON</span>
            <textarea
              value={text}
              onChange={(event) => setText(event.target.value)}
              rows={14}
              spellCheck={false}
              className="w-full rounded-md border border-line-strong bg-canvas p-3 font-mono text-xs"
            />
          </label>
          {problem !== null && (
            <p role="alert" className="mt-2 text-sm text-bad">
              {problem}
            </p>
          )}
        </Dialog>
      )}
    </>
  );
}
