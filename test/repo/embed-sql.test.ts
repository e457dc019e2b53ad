import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import {
  findStaleGenerated,
  generateAll,
  readFunctions,
  readIfExists,
  readSqlFolder,
  readStatements,
  renderGenerated,
  type SqlFolder,
  stripSqlComments,
} from '../../scripts/embed-sql.ts';
import { findReleasedChanges, findReleaseProblems, sha256 } from '../../scripts/released-sql.ts';

test('every generated.ts is fresh', () => {
  assert.deepEqual(findStaleGenerated(generateAll(), readIfExists), []);
});

test('a stale and a missing generated.ts are found', () => {
  const wanted = [{ path: '/x/generated.ts', text: 'new' }];
  assert.equal(findStaleGenerated(wanted, () => 'old').length, 1);
  assert.equal(findStaleGenerated(wanted, () => null).length, 1);
});

test('comments are stripped from statements, and marks inside quotes are kept', () => {
  const sql = `-- why\nSELECT '--not' AS "a/*b*/", 'it''s -- fine' /* gone */\n\nFROM t -- end\n`;
  assert.equal(stripSqlComments(sql), `SELECT '--not' AS "a/*b*/", 'it''s -- fine'\nFROM t`);
});

test('a file without names is one statement, a file with names is several', () => {
  assert.equal(readStatements({ name: 'claim.sql', sql: '-- claim\nSELECT 1;\n' }), 'SELECT 1;');
  assert.deepEqual(
    readStatements({
      name: 'job.sql',
      sql: '-- about\n-- name: byId\nSELECT 1;\n-- name: byKey\nSELECT 2;\n',
    }),
    { byId: 'SELECT 1;', byKey: 'SELECT 2;' },
  );
});

for (const [why, sql] of [
  ['SQL before the first name', 'SELECT 1;\n-- name: a\nSELECT 2;'],
  ['a name twice', '-- name: a\nSELECT 1;\n-- name: a\nSELECT 2;'],
  ['a name without a statement', '-- name: a\n-- nothing'],
  ['a name that is not camelCase', '-- name: by-id\nSELECT 1;'],
  ['an empty file', '-- nothing'],
] as const) {
  test(`a statement file with ${why} is refused`, () => {
    assert.throws(() => readStatements({ name: 'bad.sql', sql }), /bad\.sql/);
  });
}

/** What is generated for these files. */
function render(files: Partial<SqlFolder>): string {
  const released = { schema: {}, functionSets: [] };
  return renderGenerated({ schema: [], functions: [], statements: [], released, ...files });
}

const body = 'RETURNS text LANGUAGE sql AS $$ SELECT 1 $$;';

test('a function with a call line becomes a statement that passes all its parameters', () => {
  const text = render({
    statements: [{ name: 'call.sql', sql: '-- name: other\nSELECT 1;' }],
    functions: [
      {
        name: 'keep.sql',
        sql: `-- call: keepLocks\nCREATE FUNCTION duly.keep(p_now bigint, p_ids text[]) ${body}\nCREATE FUNCTION duly.inner() ${body}`,
      },
    ],
  });
  assert.match(text, /keepLocks: `SELECT duly\.keep_f1\(\$1::bigint, \$2::text\[\]\) AS reply`/);
  assert.match(text, /other: `SELECT 1;`/);
  assert.doesNotMatch(text, /SELECT duly\.inner_f1/);
});

test('a call line without a function, or with a name that is taken, is refused', () => {
  const marked = (sql: string) => [{ name: 'a.sql', sql: `-- call: a\n${sql}` }];
  assert.throws(() => render({ functions: marked('-- text\nCREATE FUNCTION duly.a()') }), /not above/);
  const statements = [{ name: 'call.sql', sql: '-- name: a\nSELECT 1;' }];
  const functions = marked(`CREATE FUNCTION duly.a(p bigint) ${body}`);
  assert.throws(() => render({ statements, functions }), /"a"/);
});

test('functions in a step of the schema, and anything else among functions, are refused', () => {
  const add = 'ALTER TABLE duly.jobs ADD COLUMN a text;';
  const sql = `${add}\nCREATE FUNCTION duly.a() ${body}`;
  assert.throws(() => render({ schema: [{ name: '0001_a.sql', sql }] }), /sql\/functions/);
  assert.throws(() => render({ functions: [{ name: 'a.sql', sql }] }), /ALTER TABLE/);
});

test('views are created before the functions that return their rows', () => {
  const text = render({
    functions: [
      { name: 'read.sql', sql: `CREATE FUNCTION duly.found() ${body}` },
      { name: 'views.sql', sql: 'CREATE VIEW duly.live AS SELECT 1;' },
    ],
  });
  assert.ok(text.indexOf('CREATE VIEW') < text.indexOf('CREATE FUNCTION'));
});

test('the number of the set is written into the names of functions and views, and of nothing else', () => {
  const text = render({
    functions: [
      { name: 'views.sql', sql: 'CREATE VIEW duly.over AS SELECT * FROM duly.dead;' },
      {
        name: 'feed.sql',
        sql: `CREATE FUNCTION duly.changes(p_row duly.over) RETURNS text LANGUAGE sql AS $$
  INSERT INTO duly.changes (n) VALUES (1);
  SELECT duly.changes(NULL) FROM duly.jobs, duly.overview, duly.over o
$$;`,
      },
    ],
    statements: [{ name: 'read.sql', sql: 'SELECT duly.changes($1) FROM duly.over' }],
    released: { schema: {}, functionSets: ['of the first', 'of the second'] },
  });
  assert.match(text, /number: 3,/);
  assert.match(text, /CREATE VIEW duly\.over_f3 AS SELECT \* FROM duly\.dead;/);
  assert.match(text, /CREATE FUNCTION duly\.changes_f3\(p_row duly\.over_f3\)/);
  assert.match(text, /INSERT INTO duly\.changes \(n\)/);
  assert.match(text, /SELECT duly\.changes_f3\(NULL\) FROM duly\.jobs, duly\.overview, duly\.over_f3 o/);
  assert.match(text, /read: `SELECT duly\.changes_f3\(\$1\) FROM duly\.over_f3`/);
});

test('a call of a function that is not there is refused', () => {
  const functions = [{ name: 'a.sql', sql: `CREATE FUNCTION duly.a() ${body}` }];
  assert.throws(
    () => render({ functions, statements: [{ name: 'b.sql', sql: 'SELECT duly.b()' }] }),
    /duly\.b\(/,
  );
});

test('functions have the number of the last release until their text differs', () => {
  const functions = [{ name: 'a.sql', sql: `CREATE FUNCTION duly.a() ${body}` }];
  const hash = sha256(readFunctions(functions));
  const numberOf = (functionSets: string[]): string | undefined =>
    /number: (\d+,\s+isReleased: \w+)/
      .exec(render({ functions, released: { schema: {}, functionSets } }))?.[1]
      ?.replace(/\s+/, ' ');
  assert.equal(numberOf([]), '1, isReleased: false');
  assert.equal(numberOf([hash]), '1, isReleased: true');
  assert.equal(numberOf(['other', hash]), '2, isReleased: true');
  assert.equal(numberOf([hash, 'other']), '3, isReleased: false');
});

test('a released step of the schema must stay as it is', () => {
  const released = { schema: { '0001_initial.sql': sha256('CREATE TABLE t (a);') }, functionSets: [] };
  const changes = (text: string | null) =>
    findReleasedChanges(released, () => text).map(({ message }) => message);
  assert.deepEqual(changes('CREATE TABLE t (a);'), []);
  assert.match(changes('CREATE TABLE t (b);').join(), /differs from the released one/);
  assert.match(changes(null).join(), /is gone/);
  assert.deepEqual(findReleaseProblems(), []);
});

test('a step of the schema has no placeholder, because the text of one can change', () => {
  const sql = 'CREATE TABLE t ({{job.columns}});';
  const folder = mkdtempSync(join(tmpdir(), 'duly-sql-'));
  try {
    for (const name of ['schema', 'functions', 'statements']) mkdirSync(join(folder, name));
    writeFileSync(join(folder, 'schema/0001_a.sql'), sql);
    assert.throws(() => renderGenerated(readSqlFolder(folder)), /placeholder/);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test('the generated module gives back the exact text, whatever marks it holds', async () => {
  // biome-ignore lint/suspicious/noTemplateCurlyInString: the text of a template is what is tested.
  const sql = "SELECT '`${x}\\' AS a";
  const text = render({
    statements: [
      { name: 'claim-due.sql', sql },
      { name: 'job.sql', sql: `-- name: byId\n${sql}` },
    ],
    schema: [{ name: '0001_initial.sql', sql: '-- kept\nCREATE TABLE t (a);\n' }],
  });
  const source = text.replace(/ as const;/, ';').replace(/: readonly \{[^}]*\}\[\]/, '');
  const module = await import(`data:text/javascript,${encodeURIComponent(source)}`);
  assert.equal(module.statements.claimDue, sql);
  assert.equal(module.statements.job.byId, sql);
  assert.deepEqual(module.schemaSteps, [{ number: 1, name: 'initial', sql: '-- kept\nCREATE TABLE t (a);' }]);
});

test('steps with a wrong name or a hole in their numbers are refused', () => {
  assert.throws(() => render({ schema: [{ name: 'first.sql', sql: '' }] }), /0001_initial/);
  assert.throws(() => render({ schema: [{ name: '0002_a.sql', sql: '' }] }), /number 1/);
});
