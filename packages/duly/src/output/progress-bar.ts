import type { Progress } from '@duly/core';
import { oneLine } from './terminal.ts';

const full = '█';
const empty = '░';

/** A bar of this many characters. */
export function progressBar(percent: number, width: number): string {
  const filled = Math.round((Math.min(100, Math.max(0, percent)) / 100) * width);
  return full.repeat(filled) + empty.repeat(width - filled);
}

/** ` 55%`, always four wide. */
export function percentText(percent: number): string {
  return `${Math.floor(percent)}%`.padStart(4);
}

/** `Transcoding 720p (2 of 4)`; empty when nothing is known. */
export function stepText({ message, step, of }: Progress): string {
  const steps = step === null ? '' : of === null ? `step ${step}` : `${step} of ${of}`;
  if (message === null) return steps;
  return steps === '' ? oneLine(message) : `${oneLine(message)} (${steps})`;
}
