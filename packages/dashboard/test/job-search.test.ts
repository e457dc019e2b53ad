import assert from 'node:assert/strict';
import { test } from 'node:test';
import { filterWords, type JobSearch, readJobSearch, valuesOf, withTerm } from '../src/search/job-search.ts';

test('a search is read into what the API takes', () => {
  const cases: [string, JobSearch['query']][] = [
    ['', {}],
    ['input.user:42 status:failed since:1h', { 'input.user': '42', status: ['FAILED'], since: '1h' }],
    ['status:failed,retrying', { status: ['FAILED', 'RETRYING'] }],
    ['type:a type:b', { type: ['a', 'b'] }],
    ['job_01k9abc', { ids: ['job_01k9abc'] }],
    ['id:job_1 id:job_2', { ids: ['job_1', 'job_2'] }],
    ['error:"no such file" queue:mail', { error: 'no such file', queue: ['mail'] }],
    ['input.path:"a b"', { 'input.path': 'a b' }],
    ['since:2027-01-15T10:00:00Z', { since: '2027-01-15T10:00:00Z' }],
    // A type is the name of a task.
    ['task:send_mail', { type: ['send_mail'] }],
    ['Task:a,b type:c', { type: ['a', 'b', 'c'] }],
    // A word alone is text in any of type, tenant, status and error; quotes hold words together.
    ['send_mail', { text: ['send_mail'] }],
    ['acme failed', { text: ['acme', 'failed'] }],
    ['"connection refused" "duly:http"', { text: ['connection refused', 'duly:http'] }],
    ['TypeError: oops', { text: ['TypeError:', 'oops'] }],
  ];
  for (const [text, query] of cases) {
    const read = readJobSearch(text);
    assert.deepEqual([read.query, read.problems], [query, []], text);
  }
});

test('what is acted on is what is listed: the filter of a bulk action says the same as the query', () => {
  const cases: [string, JobSearch['filter']][] = [
    ['type:a,b queue:q,r id:job_1,job_2', { type: ['a', 'b'], queue: ['q', 'r'], ids: ['job_1', 'job_2'] }],
    ['dead:true tenant:acme', { dead: true, tenant: 'acme' }],
    ['dead:false', { dead: false }],
    ['input.a:1 input.b:x input.c.0:null', { input: { a: 1, b: 'x', 'c.0': null } }],
    ['status:Failed acme', { status: ['FAILED'], text: ['acme'] }],
  ];
  for (const [text, filter] of cases) assert.deepEqual(readJobSearch(text).filter, filter, text);
});

test('what cannot be understood is said, with the nearest word and all terms', () => {
  assert.deepEqual(readJobSearch('status:faild').problems, [
    'There is no status “faild”; did you mean failed?',
  ]);
  assert.match(
    readJobSearch('status:zzz').problems.join(),
    /no status “zzz”\. There are scheduled, pending,/,
  );
  assert.match(readJobSearch('tpye: send_mail').problems.join(), /did you mean type:\?/);
  assert.deepEqual(readJobSearch('SmtpError: refused').problems, [], 'a word may end in a colon');
  // A type is the name of a task: what is nearly `task` means it.
  for (const text of ['taks:a', 'tas:x', 'Taks:a', 'tsk:', 'tsk: a']) {
    assert.match(readJobSearch(text).problems.join(), /is not a search term; did you mean type:\?/, text);
  }
  assert.match(readJobSearch('idd:job_1').problems.join(), /did you mean id:\?/);
  const { problems, hint } = readJobSearch('stauts:failed');
  assert.match(problems.join(), /“stauts:” is not .* did you mean status:\?/);
  assert.match(hint ?? '', /status: type: queue: tenant: .* input\.<path>:/);
});

test('names that every object has are no search terms', () => {
  for (const name of ['constructor', '__proto__', 'toString', 'hasOwnProperty']) {
    const { query, problems } = readJobSearch(`${name}:x`);
    assert.deepEqual(query, {}, name);
    assert.match(problems.join(), /is not a search term/, name);
    assert.deepEqual(valuesOf(`${name}:x`, 'type'), [], name);
    assert.equal(withTerm(`${name}:x`, 'type', ['a']), `${name.toLowerCase()}:x type:a`);
  }
});

test('nothing of a search is left out silently', () => {
  for (const text of [
    'status:',
    'status:scheduled type:',
    'status:scheduled type:""',
    'status:scheduled type:,',
    'tenant:a tenant:b',
    'dead:maybe',
    'input.a:1 input.a:2',
    'input.__proto__:1',
    'status:scheduled taks:send_mail',
  ])
    assert.notDeepEqual(readJobSearch(text).problems, [], text);
});

test('a filter is said in words', () => {
  const { filter } = readJobSearch(
    'status:scheduled task:send_mail,sms tenant:acme input.user:42 failed full',
  );
  assert.deepEqual(filterWords(filter), [
    'status is scheduled',
    'type is send_mail or sms',
    'tenant is acme',
    'input.user is 42',
    'status is failed, or type, tenant or error contains “failed”',
    'type, tenant or error contains “full”',
  ]);
});

test('one term is changed and the others stay', () => {
  const text = 'input.user:42 status:failed "two words"';
  assert.deepEqual(valuesOf(text, 'status'), ['failed']);
  assert.equal(
    withTerm(text, 'status', ['running', 'failed']),
    'input.user:42 "two words" status:running,failed',
  );
  assert.equal(withTerm(text, 'status', []), 'input.user:42 "two words"');
  assert.equal(withTerm('', 'type', ['a b']), 'type:"a b"');
  // A term is the same by its other name, and keeps the name that was written.
  assert.deepEqual(valuesOf('task:a type:b,c', 'type'), ['a', 'b', 'c']);
  assert.deepEqual(valuesOf('id:job_1', 'id'), ['job_1']);
  assert.equal(withTerm('task:a status:failed', 'type', ['b']), 'status:failed type:b');
  assert.equal(withTerm('id:job_1 task:a', 'id', ['job_2']), 'task:a id:job_2');
  assert.equal(withTerm('id:job_1 task:a', 'status', ['failed']), 'id:job_1 task:a status:failed');
  assert.equal(withTerm('"duly:http"', 'status', ['failed']), '"duly:http" status:failed');
});
