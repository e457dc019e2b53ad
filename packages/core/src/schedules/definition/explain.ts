import { systemClock } from '../../base/clock.ts';
import type { ExcludeSpec } from '../calendar/exclude-input.ts';
import type { RruleMoment } from '../calendar/rrule-text.ts';
import { isRule, type Rule, resolveRule } from '../calendar/rule.ts';
import type { RuleInput } from '../calendar/rule-input.ts';
import { explainCron } from './explain-cron.ts';
import { explainRrule } from './explain-rrule.ts';
import { capitalize, inWords, join, momentText } from './explain-words.ts';
import { asWritten } from './policies.ts';

/** How a rule is explained. */
export interface ExplainOptions {
  /** When it is explained: only changes of the clock in the two years after this instant are mentioned. Now unless given. */
  now?: number;
}

const yearMs = 366 * 86_400_000;

/**
 * A rule in words: "At 02:30 on weekdays, in America/New_York." A second sentence follows if a coming change of the clock falls on
 * a time that the rule fixes. Throws what `resolveRule` throws.
 */
export function explain(
  rule: string | RuleInput | Rule,
  { now = systemClock.now() }: ExplainOptions = {},
): string {
  const resolved = isRule(rule) ? rule : resolveRule(asWritten(rule), { now });
  return [explainRule(resolved), ...explainClockChanges(resolved, now)].join(' ');
}

/** The first sentence of `explain`: without changes of the clock, which take longer to find than all the rest. */
export function explainRule(rule: Rule): string {
  const sentence = [explainTimes(rule), explainZone(rule), ...explainBounds(rule)].join('');
  return `${capitalize(sentence)}${explainExclude(rule, rule.spec.exclude)}.`;
}

function explainTimes(rule: Rule): string {
  if (rule.cron !== null) return explainCron(rule.cron);
  if (rule.rrule !== null) return explainRrule(rule, rule.rrule);
  if (rule.kind === 'delay') return `${inWords(rule.spec.delay as number)} after the previous run has ended`;
  const period = inWords(rule.spec.rate as number).replace(/^1 (\w+)$/, '$1');
  if (rule.spec.anchor === 'epoch') return `every ${period}, counted from 1970-01-01T00:00Z`;
  return `every ${period}, counted from ${rule.startAt === null ? 'its creation' : 'its start'}`;
}

function explainZone(rule: Rule): string {
  // A rate and a delay are real time; the zone is theirs only for what they exclude.
  return rule.kind === 'rate' || rule.kind === 'delay' ? '' : `, in ${rule.timezone}`;
}

function explainBounds(rule: Rule): string[] {
  const at = (instantAt: number): string => {
    const { date, time } = rule.read(instantAt);
    return `${date} ${time}${rule.kind === 'rate' || rule.kind === 'delay' ? ` (${rule.timezone})` : ''}`;
  };
  const start = rule.rrule?.start ?? null;
  const counted = rule.startAt === null ? 'from' : 'counted from';
  const extra = rule.rrule?.extra ?? [];
  return [
    ...(start === null ? [] : [`, ${counted} ${momentText(rule, start)}`]),
    ...(rule.startAt === null ? [] : [`, from ${at(rule.startAt)}`]),
    ...(rule.endAt === null ? [] : [`, until ${at(rule.endAt)}`]),
    ...(extra.length === 0 ? [] : [`, and also ${momentsText(rule, extra)}`]),
  ];
}

function momentsText(rule: Rule, moments: readonly RruleMoment[]): string {
  if (moments.length > listedMax) return `at ${moments.length} other times`;
  return `on ${join(moments.map((moment) => momentText(rule, moment)))}`;
}

const listedMax = 3;

function explainExclude(rule: Rule, exclude: readonly ExcludeSpec[]): string {
  const phrases = exclude.flatMap((one) => {
    if ('cron' in one) return [`when the cron "${one.cron}" matches`];
    if ('rrule' in one) return [`on the days of "${one.rrule.replaceAll(/\r?\n/g, ' ')}"`];
    if (one.dates.length > listedMax) return [`on ${one.dates.length} dates`];
    return [`on ${join(one.dates.map((date) => date.replace('/', ' through ')))}`];
  });
  const out = rule.rrule?.excluded ?? [];
  if (out.length > 0) phrases.unshift(momentsText(rule, out).replace('other times', 'times'));
  return phrases.length === 0 ? '' : `, except ${join(phrases)}`;
}

function explainClockChanges(rule: Rule, now: number): string[] {
  const { dst } = rule.spec;
  const changes = rule.clockChanges(now, now + 2 * yearMs);
  const gap = changes.find((one) => one.kind === 'gap');
  const repeat = changes.find((one) => one.kind === 'repeat');
  const notes: string[] = [];
  if (gap !== undefined) {
    const outcome =
      dst.gap === 'next' ? 'it runs once at the first instant after the gap' : 'it does not run';
    notes.push(`${gap.time} does not exist on ${gap.date}: ${outcome}.`);
  }
  if (repeat !== undefined) {
    const outcome = { first: 'the first time', last: 'the second time', both: 'both times' }[dst.repeat];
    notes.push(`${repeat.time} comes twice on ${repeat.date}: it runs ${outcome}.`);
  }
  return notes;
}
