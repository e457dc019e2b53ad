import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isDulyError } from '../../../src/base/errors.ts';
import { hasBit } from '../../../src/schedules/calendar/cron-fields.ts';
import { parseCron } from '../../../src/schedules/calendar/cron-parse.ts';

const now = Date.UTC(2026, 10, 15);

function set(mask: number, first = 0): number[] {
  return Array.from({ length: 32 }, (_, bit) => bit).flatMap((bit) =>
    (mask >>> bit) & 1 ? [bit + first] : [],
  );
}

function minutesOf(cron: string): number[] {
  const { minutes } = parseCron(cron);
  return Array.from({ length: 60 }, (_, minute) => minute).filter((minute) => hasBit(minutes, minute));
}

/** The error of a cron that should be refused. */
function refusalOf(
  cron: unknown,
  options = { now },
): { message: string; hint: string; field: unknown; position: unknown } {
  try {
    parseCron(cron as string, options);
  } catch (error) {
    if (!isDulyError(error, 'invalid_cron')) throw error;
    const { field, position } = error.details;
    return { message: error.message, hint: error.hint ?? '', field, position };
  }
  return assert.fail(`"${cron}" was not refused`);
}

test('five fields begin with the minute, six with the second or end with a year, seven have both', () => {
  const { written: five } = parseCron('1 2 3 4 5');
  assert.deepEqual(five, {
    second: null,
    minute: '1',
    hour: '2',
    dayOfMonth: '3',
    month: '4',
    weekday: '5',
    year: null,
  });
  const { written: seconds } = parseCron('0 1 2 3 4 5');
  assert.deepEqual([seconds.second, seconds.minute, seconds.weekday, seconds.year], ['0', '1', '5', null]);
  for (const year of ['2030', '2030-2035', '2030/2', '2031,2030', '*/2,2030']) {
    const { written } = parseCron(`1 2 3 4 5 ${year}`);
    assert.deepEqual([written.second, written.minute, written.year], [null, '1', year]);
  }
  const { written: seven } = parseCron('0 1 2 3 4 5 2030');
  assert.deepEqual([seven.second, seven.minute, seven.year], ['0', '1', '2030']);
  assert.equal(parseCron('* * * * * *').hasSeconds, true);
  assert.equal(parseCron('* * * * * * *').years, null);
});

test('lists, ranges and steps name what they say', () => {
  assert.deepEqual(minutesOf('5 * * * *'), [5]);
  assert.deepEqual(minutesOf('05,7,7 * * * *'), [5, 7]);
  assert.deepEqual(minutesOf('5-8 * * * *'), [5, 6, 7, 8]);
  assert.deepEqual(minutesOf('*/20 * * * *'), [0, 20, 40]);
  assert.deepEqual(minutesOf('5/20 * * * *'), [5, 25, 45]);
  assert.deepEqual(minutesOf('10-30/10 * * * *'), [10, 20, 30]);
  assert.deepEqual(minutesOf('58-59,31,0-1 * * * *'), [0, 1, 31, 58, 59]);
  assert.deepEqual(minutesOf('*/60 * * * *'), [0]);
  assert.equal(minutesOf('* * * * *').length, 60);
  assert.deepEqual(set(parseCron('0 20/2 * * *').hours), [20, 22]);
  assert.deepEqual(parseCron('0 0 1 1 * 2030-2040/5,2031').years, [2030, 2031, 2035, 2040]);
});

test('names are taken in any case, and a named range may run over the end', () => {
  assert.deepEqual(set(parseCron('0 0 1 jan,Mar-MAY *').months, 1), [1, 3, 4, 5]);
  assert.deepEqual(set(parseCron('0 0 1 NOV-FEB *').months, 1), [1, 2, 11, 12]);
  assert.deepEqual(set(parseCron('0 0 * * mon-Wed').weekday.weekdays), [1, 2, 3]);
  assert.deepEqual(set(parseCron('0 0 * * FRI-SUN').weekday.weekdays), [0, 5, 6]);
  assert.deepEqual(set(parseCron('0 0 * * FRI-MON').weekday.weekdays), [0, 1, 5, 6]);
  assert.deepEqual(set(parseCron('0 0 * * SAT-FRI/2').weekday.weekdays), [1, 3, 5, 6]);
});

test('Sunday is 0 and 7', () => {
  for (const sunday of ['0', '7', 'SUN', 'sun', '7-7', '0,7']) {
    assert.deepEqual(set(parseCron(`0 0 * * ${sunday}`).weekday.weekdays), [0], sunday);
  }
  assert.deepEqual(set(parseCron('0 0 * * 5-7').weekday.weekdays), [0, 5, 6]);
  assert.deepEqual(set(parseCron('0 0 * * 5-SUN').weekday.weekdays), [0, 5, 6]);
  assert.equal(set(parseCron('0 0 * * 0-7').weekday.weekdays).length, 7);
  assert.deepEqual(set(parseCron('0 0 * * 1/2').weekday.weekdays), [1, 3, 5]);
  assert.deepEqual(parseCron('0 0 * * 7L').weekday.last, 1);
  assert.deepEqual(parseCron('0 0 * * 7#2').weekday.nth, [0, 1, 0, 0, 0]);
});

test('L, W and # are read in lists, in any case', () => {
  const { dayOfMonth } = parseCron('0 0 1,l,L-3,lw,15W * *');
  assert.deepEqual(dayOfMonth, {
    isFree: false,
    days: 1,
    nearestWeekdays: 1 << 14,
    fromLast: 0b1001,
    lastWeekday: true,
  });
  const { weekday } = parseCron('0 0 * * FRIL,1L,MON#2,mon#5,SAT');
  assert.deepEqual(weekday, { isFree: false, weekdays: 64, nth: [0, 2, 0, 0, 2], last: 0b100010 });
});

test('a day field is free if it starts with * or is ?', () => {
  const isFree = (cron: string): boolean[] => {
    const { dayOfMonth, weekday } = parseCron(cron);
    return [dayOfMonth.isFree, weekday.isFree];
  };
  assert.deepEqual(isFree('0 0 * * *'), [true, true]);
  assert.deepEqual(isFree('0 0 ? * MON'), [true, false]);
  assert.deepEqual(isFree('0 0 */2 * MON'), [true, false]);
  assert.deepEqual(isFree('0 0 1-31 * ?'), [false, true]);
  assert.deepEqual(isFree('0 0 1 * */2'), [false, true]);
});

test('only an hour field of numbers is fixed', () => {
  for (const hour of ['2', '02', '2,3', '0,1,2'])
    assert.equal(parseCron(`0 ${hour} * * *`).isFixed, true, hour);
  for (const hour of ['*', '*/2', '2-3', '2-2', '2/3', '1,2-3', '*,2']) {
    assert.equal(parseCron(`0 ${hour} * * *`).isFixed, false, hour);
  }
});

test('macros stand for their crons', () => {
  const macros: [string, string][] = [
    ['@yearly', '0 0 1 1 *'],
    ['@annually', '0 0 1 1 *'],
    ['@monthly', '0 0 1 * *'],
    ['@weekly', '0 0 * * 0'],
    ['@daily', '0 0 * * *'],
    ['@midnight', '0 0 * * *'],
    ['@hourly', '0 * * * *'],
    [' @Daily ', '0 0 * * *'],
  ];
  for (const [macro, cron] of macros) {
    assert.deepEqual({ ...parseCron(macro), text: '' }, { ...parseCron(cron), text: '' }, macro);
  }
});

test('any blanks separate the fields', () => {
  assert.deepEqual(parseCron('  0\t0  *\n* *  ').text, '0 0 * * *');
});

// cron, field, position, a word of the message, a word of the hint
const refusals: [string, string, number, RegExp, RegExp?][] = [
  // Of several mistakes the first.
  ['H H * * *', 'minute', 0, /not a valid minute/],
  ['61 60 25 * * *', 'second', 0, /out of range/],
  ['', 'cron', 0, /5, 6 or 7 fields, got 0/],
  ['   ', 'cron', 3, /got 0/],
  ['* * * *', 'cron', 7, /got 4/],
  ['* * * * * * * *', 'cron', 14, /got 8/],
  ['60 * * * *', 'minute', 0, /out of range: expected 0 to 59/],
  ['* 24 * * *', 'hour', 2, /0 to 23/],
  ['* * 0 * *', 'dayOfMonth', 4, /1 to 31/],
  ['* * 32 * *', 'dayOfMonth', 4, /1 to 31/],
  ['* * * 0 *', 'month', 6, /1 to 12/],
  ['* * * 13 *', 'month', 6, /1 to 12/],
  ['* * * * 8', 'weekday', 8, /0 to 7/],
  ['60 * * * * *', 'second', 0, /0 to 59/],
  ['0 0 1 1 * 1969', 'year', 10, /1970 to 9999/],
  ['0 0 0 1 1 * 99999', 'year', 12, /1970 to 9999/],
  ['99999999999999999999 * * * *', 'minute', 0, /out of range/],
  ['1,61 * * * *', 'minute', 2, /"61"/],
  ['1-61 * * * *', 'minute', 2, /"61"/],
  ['-1 * * * *', 'minute', 0, /"-1".* is not a valid minute: expected 0 to 59/],
  ['1- * * * *', 'minute', 2, /lacks a value/],
  ['1-2-3 * * * *', 'minute', 2, /"2-3"/],
  ['*-5 * * * *', 'minute', 0, /"\*"/],
  ['1.5 * * * *', 'minute', 0, /"1.5"/],
  ['1e1 * * * *', 'minute', 0, /"1e1"/],
  ['+5 * * * *', 'minute', 0, /"\+5"/],
  ['** * * * *', 'minute', 0, /"\*\*"/],
  ['*/ * * * *', 'minute', 2, /whole number after the "\/"/],
  ['*/x * * * *', 'minute', 2, /whole number/],
  ['*/-5 * * * *', 'minute', 2, /whole number/],
  ['*/5/5 * * * *', 'minute', 2, /whole number/],
  ['/5 * * * *', 'minute', 0, /lacks a value/],
  ['*/0 * * * *', 'minute', 2, /step of 0/],
  ['*/61 * * * *', 'minute', 2, /only 60 values/, /rate/],
  ['0 */25 * * *', 'hour', 4, /only 24 values/],
  ['0 0 */32 * *', 'dayOfMonth', 6, /only 31 values/],
  ['0 0 * * */8', 'weekday', 10, /only 7 values/],
  [',1 * * * *', 'minute', 0, /empty item/],
  ['1, * * * *', 'minute', 2, /empty item/],
  ['1,,2 * * * *', 'minute', 2, /empty item/],
  ['30-5 * * * *', 'minute', 0, /backwards/, /"30-59,0-5"/],
  ['0 22-2 * * *', 'hour', 2, /backwards/, /"22-23,0-2"/],
  ['0 0 * 11-2 *', 'month', 6, /backwards/],
  ['0 0 * NOV-2 *', 'month', 6, /backwards/],
  ['0 0 * * 5-1', 'weekday', 8, /backwards/, /"5-6,0-1"/],
  ['0 0 * * 6-1', 'weekday', 8, /backwards/, /"6,0-1"/],
  ['0 0 * * 5-0', 'weekday', 8, /backwards/, /"5-7"/],
  ['0 0 * * 7-1', 'weekday', 8, /backwards/, /"0-1"/],
  ['? * * * *', 'minute', 0, /cannot be "\?"/, /"\*"/],
  ['0 0 * ? *', 'month', 6, /cannot be "\?"/],
  ['0 0 1,? * *', 'dayOfMonth', 6, /alone/],
  ['0 0 ?/2 * *', 'dayOfMonth', 4, /alone/],
  ['0 MON * * *', 'hour', 2, /not a valid hour/],
  ['0 0 * * MOM', 'weekday', 8, /not a valid weekday/, /"MON"/],
  ['0 0 * * MONDAY', 'weekday', 8, /"MONDAY"/],
  ['0 0 * * TUES', 'weekday', 8, /"TUES"/, /"TUE"/],
  ['0 0 * SEPT *', 'month', 6, /"SEPT"/, /"SEP"/],
  ['0 0 * MAZ *', 'month', 6, /"MAZ"/, /"MAR"|"MAY"/],
  ['0 0 * * L', 'weekday', 8, /before the "L"/, /FRIL/],
  ['0 0 * * 1,L', 'weekday', 10, /before the "L"/],
  ['0 0 * * MON-FRIL', 'weekday', 12, /"FRIL"/],
  ['0 0 * * 8L', 'weekday', 8, /0 to 7/],
  ['0 0 * * FUNL', 'weekday', 8, /"FUN"/],
  ['0 0 * * MON#0', 'weekday', 12, /"#1" to "#5"/],
  ['0 0 * * MON#6', 'weekday', 12, /"#1" to "#5"/],
  ['0 0 * * MON#', 'weekday', 12, /"#1" to "#5"/],
  ['0 0 * * #2', 'weekday', 8, /lacks a value/],
  ['0 0 * * MON#2#3', 'weekday', 12, /"#1" to "#5"/],
  ['0 0 * * MON-FRI#2', 'weekday', 8, /"MON-FRI"/],
  ['0 0 1#2 * *', 'dayOfMonth', 4, /"1#2"/],
  ['0 0 L-31 * *', 'dayOfMonth', 6, /1 to 30/],
  ['0 0 L-3W * *', 'dayOfMonth', 4, /"L-3W"/],
  ['0 0 L/2 * *', 'dayOfMonth', 4, /without range or step/],
  ['0 0 1-L * *', 'dayOfMonth', 4, /without range or step/],
  ['0 0 0W * *', 'dayOfMonth', 4, /1 to 31/],
  ['0 0 32W * *', 'dayOfMonth', 4, /1 to 31/],
  ['0 0 W * *', 'dayOfMonth', 4, /"W"/],
  ['0 L * * *', 'hour', 2, /"L"/],
  ['0 0 H * *', 'dayOfMonth', 4, /"H"/],
  ['@dayly', 'cron', 0, /not a macro/, /"@daily"/],
  ['@reboot', 'cron', 0, /not a macro/, /restarts/],
  ['@every 5m', 'cron', 0, /not a macro/, /rate/],
  ['10m', 'cron', 3, /got 1/, /\{ "rate": "10m" \}/],
  ['every 10 minutes', 'cron', 16, /got 3/, /\{ "rate": "10 minutes" \}/],
  ['FREQ=DAILY', 'cron', 10, /got 1/, /rrule/],
  ['TZ=UTC 0 0 * *', 'minute', 0, /"TZ=UTC"/, /beside the cron/],
  ['CRON_TZ=UTC 0 0 * * *', 'second', 0, /"CRON_TZ=UTC"/, /"timezone"/],
  ['0 0 * * *\u0000', 'weekday', 8, /not a valid weekday|"\*/],
  ['٠ * * * *', 'minute', 0, /"٠"/],
  ['0 0 1–5 * *', 'dayOfMonth', 4, /"1–5"/],
];

for (const [cron, field, position, message, hint] of refusals) {
  test(`the cron ${JSON.stringify(cron)} is refused: ${field} at ${position}`, () => {
    const refusal = refusalOf(cron);
    assert.deepEqual([refusal.field, refusal.position], [field, position]);
    assert.match(refusal.message, message);
    if (hint !== undefined) assert.match(refusal.hint, hint);
  });
}

test('what is not a text, or is too long, is refused', () => {
  for (const value of [undefined, null, 5, {}, [], () => {}]) assert.equal(refusalOf(value).field, 'cron');
  assert.doesNotThrow(() => parseCron(`${'1,'.repeat(495)}1 * * * *`));
  assert.match(refusalOf(`${'1,'.repeat(500)}1 * * * *`).message, /at most 1000 characters/);
});

test('a cron whose date never comes is refused', () => {
  for (const cron of [
    '0 0 31 4 *',
    '0 0 30 2 *',
    '0 0 30,31 2 *',
    '0 0 31 2,4,6,9,11 *',
    '0 0 31W 4 *',
    '0 0 L-29 2 *',
    '0 0 0 31 6 ?',
    '0 0 30/2 2 *',
  ]) {
    const refusal = refusalOf(cron);
    assert.equal(refusal.field, 'dayOfMonth', cron);
    assert.match(refusal.message, /none of its months/, cron);
  }
  for (const cron of ['0 0 29 2 * 2027', '0 0 29 2 * 2027,2029', '0 0 0 29 2 ? 2100', '0 0 ? 2 MON#5 2028']) {
    const refusal = refusalOf(cron);
    assert.equal(refusal.field, 'year', cron);
    assert.match(refusal.message, /none of its years/, cron);
  }
  for (const cron of [
    '0 0 29 2 *',
    '0 0 31 4 MON',
    '0 0 31 */2 *',
    '0 0 L-28 2 *',
    '0 0 29 2 */7',
    '0 0 ? 2 MON#5',
    '0 0 29 2 * 2028',
  ]) {
    assert.doesNotThrow(() => parseCron(cron, { now }), cron);
  }
});

test('a cron of past years is refused when a rule is created, and read when it was stored', () => {
  for (const cron of [
    '0 0 1 1 * 2020',
    '0 0 1 1 * 2000-2025',
    '0 0 0 1 1 ? 1999,2001',
    '0 0 29 2 * 2024,2027',
  ]) {
    const refusal = refusalOf(cron);
    assert.equal(refusal.field, 'year', cron);
    assert.match(refusal.message, /over/, cron);
    assert.match(refusal.hint, /2026/);
    assert.doesNotThrow(() => parseCron(cron), cron);
  }
  assert.doesNotThrow(() => parseCron('0 0 1 1 * 2020,2030', { now }));
  // At New Year it is still the old year in the west.
  assert.doesNotThrow(() => parseCron('0 0 1 1 * 2026', { now }));
});
