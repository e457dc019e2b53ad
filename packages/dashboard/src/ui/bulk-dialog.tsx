import { useState } from 'react';
import { type BulkCount, type BulkTarget, inputText, useBulkAct, useBulkCount } from '../api/jobs.ts';
import { Time } from '../time/time.tsx';
import { Button } from './button.tsx';
import { counted } from './counted.ts';
import { Dialog } from './dialog.tsx';
import { type Status, StatusBadge } from './status.tsx';
import { useToasts } from './toast.tsx';
import { WordField } from './word-field.tsx';

/** How an action on many jobs is called. */
export interface BulkWords {
  /** `Cancel`. */
  verb: string;
  /** `job`. */
  noun: string;
  /** `cancelled`: what the jobs are afterwards. */
  done: string;
  isDanger: boolean;
  /** The conditions that all of the jobs meet, in words; none: they are all there are. */
  which: readonly string[];
  /** What it means for them, in a sentence. */
  about?: string;
  /** A word that is typed first, whatever the number. */
  typed?: string;
}

/** More jobs than this are ended only after a word was typed. */
const untypedMax = 100;

/**
 * Asks before something is done to many jobs. `ask` counts first; the dialog shows that count, the filter in words and some of the jobs, and
 * what is done is done to these jobs or not at all.
 */
export function useBulkDialog() {
  const toasts = useToasts();
  const counting = useBulkCount();
  const [asked, setAsked] = useState<{ count: BulkCount; words: BulkWords } | null>(null);
  return {
    // The button stays enabled while it counts: a disabled button loses the focus.
    ask: (target: BulkTarget, words: BulkWords) => {
      if (counting.isPending) return;
      counting.mutate(target, {
        onSuccess: (count) => setAsked({ count, words }),
        onError: toasts.complain,
      });
    },
    dialog: asked !== null && <BulkDialog {...asked} onClose={() => setAsked(null)} />,
  };
}

function BulkDialog({ count, words, onClose }: { count: BulkCount; words: BulkWords; onClose: () => void }) {
  const toasts = useToasts();
  const [typed, setTyped] = useState('');
  const { verb, noun, done, isDanger, which, about } = words;
  const { changed: matched, refused, samples } = count;
  // One request names a limited number of jobs. The newest are changed, and the others by asking again.
  const changed = count.ids.length;
  const act = useBulkAct({
    onDone: (acted, { ids }) => {
      const left = ids.length - acted;
      const were = left === 1 ? 'was' : 'were';
      const rest =
        left === 0 ? '' : ` ${left.toLocaleString('en')} had changed meanwhile and ${were} left alone.`;
      toasts.say(`${counted(acted, noun)} ${done}.${rest}`);
    },
  });
  const word = words.typed ?? (isDanger && changed > untypedMax ? verb.toLowerCase() : null);
  const confirm = () => act.mutate(count, { onSuccess: onClose, onError: toasts.complain });
  return (
    <Dialog
      open
      onClose={onClose}
      title={`${verb} ${counted(changed, noun)}?`}
      actions={
        <>
          <Button onClick={onClose}>Leave them</Button>
          <Button
            kind={isDanger ? 'danger' : 'primary'}
            disabled={changed === 0 || act.isPending || (word !== null && typed !== word)}
            onClick={confirm}
          >
            {verb} {changed.toLocaleString('en')}
          </Button>
        </>
      }
    >
      <div className="space-y-3 text-sm">
        <Conditions which={which} noun={noun} asOf={count.asOf} />
        {changed < matched && (
          <p role="alert" className="rounded-md bg-warn-soft px-3 py-2 text-warn">
            {counted(matched, noun)} match. These are the newest {changed.toLocaleString('en')}; repeat it for
            the others.
          </p>
        )}
        {changed === 0 ? <p>None of them can be changed.</p> : <Examples samples={samples} total={changed} />}
        {refused > 0 && (
          <p className="text-ink-soft">
            {counted(refused, noun)} more {refused === 1 ? 'matches' : 'match'} and{' '}
            {refused === 1 ? 'stays' : 'stay'} as {refused === 1 ? 'it is' : 'they are'}: the status does not
            allow it.
          </p>
        )}
        {about !== undefined && <p className="text-ink-soft">{about}</p>}
        {word !== null && changed > 0 && <WordField word={word} typed={typed} onType={setTyped} />}
      </div>
    </Dialog>
  );
}

/** Which jobs these are, and when they were counted. */
function Conditions({ which, noun, asOf }: Pick<BulkWords, 'which' | 'noun'> & Pick<BulkCount, 'asOf'>) {
  return (
    <div>
      <p>
        {which.length === 0 ? `All ${noun}s` : `The ${noun}s that match all of these conditions`}, counted{' '}
        <Time at={asOf} />
        {which.length === 0 ? '.' : ':'}
      </p>
      {which.length > 0 && (
        <ul aria-label="Filter" className="mt-1 list-disc pl-5 font-medium break-words">
          {which.map((one) => (
            <li key={one}>{one}</li>
          ))}
        </ul>
      )}
    </div>
  );
}

/** Some of the jobs, and how many more there are. */
function Examples({ samples, total }: Pick<BulkCount, 'samples'> & { total: number }) {
  return (
    <div>
      <ul aria-label="Examples" className="divide-y divide-line rounded-md border border-line">
        {samples.map((job) => (
          <li key={job.id} className="flex items-center gap-2 px-2.5 py-1.5">
            <StatusBadge status={job.status as Status} />
            <span className="min-w-0 flex-1">
              <span className="block truncate font-medium">{job.type}</span>
              <span className="block truncate font-mono text-xs text-ink-soft">
                {job.tenant === null ? '' : `${job.tenant} · `}
                {inputText(job.input)}
              </span>
            </span>
            <Time at={job.created_at} className="shrink-0 text-xs text-ink-faint" />
          </li>
        ))}
      </ul>
      {total > samples.length && (
        <p className="mt-1 text-xs text-ink-soft">and {(total - samples.length).toLocaleString('en')} more</p>
      )}
    </div>
  );
}
