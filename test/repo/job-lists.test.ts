import assert from 'node:assert/strict';
import { test } from 'node:test';
import { expandJobLists, type JobTable, rewriteJobLists } from '../../scripts/job-lists.ts';

const text = {
  type: 'text',
  nullable: false,
  setBy: 'caller',
  inRecord: true,
  inClaim: true,
  shared: true,
  json: null,
  doc: '',
} as const;
const table: JobTable = {
  id: { ...text, column: 'id', shared: false },
  kindOf: { ...text, column: 'kind_of' },
  seenAt: { ...text, column: 'seen_at', type: 'instant', nullable: true, setBy: 'engine' },
};

for (const [placeholder, written] of [
  ['columns', 'id, kind_of, seen_at'],
  ['caller -id', 'kind_of'],
  ['columns +shared', 'kind_of, seen_at'],
  ['columns +nullable -caller', 'seen_at'],
  ['columns seenAt', 'seen_at, id, kind_of'],
  ['none seenAt id', 'seen_at, id'],
  ['caller seenAt -id', 'seen_at, kind_of'],
  ['caller | s.%column | , | id=p_id', 'p_id, s.kind_of'],
  [
    'columns | x.%column %differs y.%column | OR | id=',
    'x.kind_of <> y.kind_of OR x.seen_at IS DISTINCT FROM y.seen_at',
  ],
  ['columns | v_%column := a.%column; |', 'v_id := a.id; v_kind_of := a.kind_of; v_seen_at := a.seen_at;'],
  ['caller | %column; | | id=a;', 'a; kind_of;'],
  ['columns | %column || $%next', 'id || $1, kind_of || $2, seen_at || $3'],
  ['columns | $%n | , | id*2=[$%n $%next]', '[$0 $1], $2, $3'],
  ['columns | %shown(a.%field)', 'a.id, a.kindOf, date(a.seenAt)'],
] as const) {
  test(`{{job.${placeholder}}} is written`, () => {
    assert.equal(expandJobLists(`(${`{{job.${placeholder}}}`})`, table), `(${written})`);
  });
}

for (const [placeholder, error] of [
  ['rows', /"rows" is no list of job fields, in \{\{job\.rows\}\}/],
  ['columns -ids', /"-ids" is no job field and no flag/],
  ['columns ids', /"ids" is no job field and no flag/],
  ['columns +id', /"\+id" is no job field and no flag/],
  ['columns | %colum', /"%colum" means nothing/],
  ['columns | %toString', /"%toString" means nothing/],
  ['columns | %shown', /"%shown" needs a value/],
  ['columns | %column | , | ids=x', /"ids" is no job field/],
  ['columns | %column | , | OR', /two separators/],
] as const) {
  test(`{{job.${placeholder}}} is refused`, () => {
    assert.throws(() => expandJobLists(`{{job.${placeholder}}}`, table), error);
  });
}

test('in a comment of TypeScript a list replaces the lines up to its end, one per field', () => {
  const open = '  // {{job.caller | %field: null, | ,\n  //   | id=id: 1,}}\n';
  const close = '  // {{/job}}\n';
  assert.equal(
    rewriteJobLists(`a\n${open}  old,\n${close}b\n`, table),
    `a\n${open}  id: 1,\n  kindOf: null,\n${close}b\n`,
  );
});
