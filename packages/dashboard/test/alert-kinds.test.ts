import assert from 'node:assert/strict';
import { test } from 'node:test';
import { defaultAlertRules } from '../../server/src/alerts/alert-rule.ts';
import { toRuleJson } from '../../server/src/alerts/rule-json.ts';
import { alertKinds, sentenceOf, thresholdsOf, thresholdText } from '../src/pages/alerts/kinds.ts';

test('the dialog offers every kind of the server, in its order', () => {
  assert.deepEqual(
    alertKinds.map(({ kind }) => kind),
    defaultAlertRules.map(({ condition }) => condition.kind),
  );
});

for (const rule of defaultAlertRules.map(toRuleJson)) {
  test(`${rule.kind}: the dialog has the values of a default rule, and the sentence names each`, () => {
    const { id, kind, enabled, for: hold, types, channels, ...values } = rule;
    const thresholds = thresholdsOf(kind);
    assert.deepEqual(Object.fromEntries(thresholds.map((one) => [one.name, one.default])), values);
    const sentence = sentenceOf(rule);
    for (const one of thresholds) assert.ok(sentence.includes(thresholdText(one, one.default)), sentence);
    assert.doesNotMatch(sentence, /[{}]/);
  });
}

test('a sentence has the values of its rule', () => {
  const values = { above: 12.5, window: 5_400_000, min_count: 7 };
  assert.equal(
    sentenceOf({ kind: 'failure_rate', ...values }),
    'more than 12.5 % fail within 1 h 30 min, of at least 7',
  );
});
