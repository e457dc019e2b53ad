import { type JobNotice, type Progress, systemClock } from '@duly/core';
import type { LiveArea } from '../output/live-area.ts';
import { percentText, progressBar, stepText } from '../output/progress-bar.ts';
import { cut, oneLine, pad, type Terminal, widthOf } from '../output/terminal.ts';

/** The jobs that run on a node, shown as bars at the bottom of a terminal. */
export interface RunningBars {
  add(notice: JobNotice): void;
  /** Stores how far a job is; whether its step has changed. */
  progress(id: string, progress: Progress): boolean;
  /** Removes a job; how long it was shown, null: it was not. */
  remove(id: string): number | null;
  /** Draws the bars from now on. */
  show(): void;
  close(): void;
}

interface Running {
  notice: JobNotice;
  startedElapsed: number;
  progress: Progress | null;
}

// At most this many bars are drawn; the rest is counted.
const barCountMax = 8;
const typeWidthMax = 32;
const redrawMs = 1_000;

/** Creates the bars, which are drawn after `show`. */
export function createRunningBars(area: LiveArea, out: Terminal): RunningBars {
  const running = new Map<string, Running>();
  let isShown = false;

  function redraw(): void {
    if (isShown) area.set(() => barsOf(running, out));
  }

  // While a job runs its seconds count, even if it reports nothing.
  let tick = systemClock.after(redrawMs, onTick, { unref: true });
  function onTick(): void {
    if (running.size > 0) redraw();
    tick = systemClock.after(redrawMs, onTick, { unref: true });
  }

  return {
    add(notice) {
      running.set(notice.id, { notice, startedElapsed: systemClock.elapsed(), progress: null });
      redraw();
    },
    progress(id, progress) {
      const entry = running.get(id);
      if (entry === undefined) return false;
      const stepBefore = stepOf(entry);
      entry.progress = progress;
      redraw();
      return stepOf(entry) !== stepBefore;
    },
    remove(id) {
      const entry = running.get(id);
      running.delete(id);
      redraw();
      return entry === undefined ? null : systemClock.elapsed() - entry.startedElapsed;
    },
    show() {
      isShown = true;
      redraw();
    },
    close: () => tick.cancel(),
  };
}

function stepOf({ progress }: Running): string {
  return progress === null ? '' : stepText(progress);
}

function barsOf(all: ReadonlyMap<string, Running>, out: Terminal): string[] {
  const count = Math.min(barCountMax, Math.max(1, out.rows() - 4));
  const shown = [...all.values()].slice(0, count);
  // Long names are cut: the bars, the step and the id need room too.
  const typeWidth = Math.min(
    typeWidthMax,
    Math.max(0, ...shown.map(({ notice }) => widthOf(oneLine(notice.type)))),
  );
  const lines = shown.map((one) => {
    const { notice, progress, startedElapsed } = one;
    const percent = progress?.percent ?? 0;
    const seconds = `${Math.floor((systemClock.elapsed() - startedElapsed) / 1_000)} s`.padStart(5);
    return `${seconds}  ${out.paint('yellow', progressBar(percent, 20))} ${percentText(percent)}  ${out.paint('bold', pad(cut(oneLine(notice.type), typeWidth), typeWidth))}  ${stepOf(one)}  ${out.paint('dim', notice.id)}`;
  });
  const rest = all.size - shown.length;
  return rest > 0 ? [...lines, out.paint('dim', `       and ${rest} more running`)] : lines;
}
