import { useState } from 'react';
import { type Job, useJobAction } from '../../api/jobs.ts';
import { readJsonText } from '../../api/json-text.ts';
import { post } from '../../api/request.ts';
import { Button } from '../../ui/button.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { useToasts } from '../../ui/toast.tsx';

/** A new job like this one, with the same input or another. */
export function RunAgain({ job, onMade }: { job: Job; onMade: (id: string) => void }) {
  const again = useJobAction(job.id, 'run-again');
  const toasts = useToasts();
  const [text, setText] = useState<string | null>(null);
  const [problem, setProblem] = useState<string | null>(null);

  const runEdited = async () => {
    const read = readJsonText(text ?? 'null');
    if ('problem' in read) return setProblem(read.problem);
    try {
      const { type, queue, tenant, priority } = job;
      const made = await post<Job>('api/jobs', { type, input: read.value, queue, tenant, priority });
      setText(null);
      onMade(made.id);
    } catch (error) {
      setProblem((error as Error).message);
    }
  };

  return (
    <>
      <Button
        disabled={again.isPending}
        onClick={() => again.mutate({}, { onSuccess: ({ id }) => onMade(id), onError: toasts.complain })}
      >
        Run again
      </Button>
      <Button
        onClick={() => {
          setProblem(null);
          setText(JSON.stringify(job.input, null, 2));
        }}
      >
        Edit and run
      </Button>
      {text !== null && (
        <Dialog
          open
          wide
          onClose={() => setText(null)}
          title={`Run ${job.type} with another input`}
          actions={
            <>
              <Button onClick={() => setText(null)}>Leave it</Button>
              <Button kind="primary" onClick={() => void runEdited()}>
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
