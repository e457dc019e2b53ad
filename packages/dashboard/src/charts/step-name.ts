import { duration } from '../time/format.ts';

/** `minute`, `30 min`, `6 h`: the length of a step, as it stands behind "per". */
export function stepName(stepMs: number): string {
  const text = duration(stepMs);
  const [amount, unit] = text.split(' ');
  const name = unit === 'min' ? 'minute' : unit === 'h' ? 'hour' : unit === 's' ? 'second' : 'day';
  return amount === '1' || amount === '1.0' ? name : text;
}
