import assert from 'node:assert/strict';
import { test } from 'node:test';
import { planManifests } from '../src/import/kubernetes-plan.ts';
import { createFolder } from './command.ts';

const hello = `apiVersion: batch/v1
kind: CronJob
metadata: { name: hello, namespace: prod }
spec:
  schedule: "*/5 * * * *"
  timeZone: Europe/Rome
  concurrencyPolicy: Forbid
  startingDeadlineSeconds: 200
  suspend: true
  successfulJobsHistoryLimit: 5
  jobTemplate:
    spec:
      backoffLimit: 2
      activeDeadlineSeconds: 600
      template:
        spec:
          volumes: [{ name: data }]
          containers:
          - name: hello
            image: busybox:1.28
            workingDir: /srv
            env: [{ name: WHO, value: world }, { name: PW, valueFrom: { secretKeyRef: { name: a, key: b } } }]
            command: ["/bin/sh", "-c"]
            args: ["echo $(WHO) $(OTHER) $$(WHO)"]
          restartPolicy: OnFailure
`;
const bare = `kind: CronJob
metadata: { name: bare }
spec: { schedule: "0 2 * * *", concurrencyPolicy: Replace, jobTemplate: { spec: { template: { spec: { containers: [{ name: a, image: "backup:1", args: [--full] }] } } } } }
`;

test('every field of a CronJob has its policy, and the mapping tells it', () => {
  const { schedules, leftOut } = planManifests([{ name: 'a.yaml', text: hello }], 'command');
  assert.deepEqual(leftOut, []);
  const [one] = schedules;
  assert.deepEqual(one?.definition, {
    type: 'duly:command',
    name: 'hello',
    cron: '*/5 * * * *',
    timezone: 'Europe/Rome',
    overlap: 'skip',
    missed: 'latest',
    startDeadline: '200s',
    retry: { attempts: 3, delay: '10s', maxDelay: '6m' },
    timeout: '600s',
    input: {
      command: {
        argv: ['/bin/sh', '-c', 'echo world $(OTHER) $(WHO)'],
        placeholders: false,
        stdin: '',
        env: { WHO: 'world' },
        cwd: '/srv',
      },
    },
    metadata: { kubernetes: { name: 'hello', namespace: 'prod' } },
  });
  assert.equal(one?.suspended, true);
  assert.deepEqual(
    one?.mappings.map(({ from }) => from.split(':')[0]),
    [
      'schedule',
      'timeZone',
      'suspend',
      'concurrencyPolicy',
      'missed starts',
      'startingDeadlineSeconds',
      'backoffLimit',
      'activeDeadlineSeconds',
      'successfulJobsHistoryLimit',
    ],
  );
  assert.deepEqual(one?.hazards, [
    'it runs where its node runs, not in the image busybox:1.28',
    'PW came from secrets, config maps or the pod: the program does not get them',
    'volumes are not taken along',
  ]);
});

test('an image without a command runs by docker, and what is left out has the defaults of Kubernetes', () => {
  assert.match(
    planManifests([{ name: 'b', text: bare }], 'command').leftOut[0]?.reason ?? '',
    /no "command"/,
  );
  const [one] = planManifests([{ name: 'b', text: bare }], 'docker').schedules;
  const { overlap, retry, timeout, timezone, startDeadline } = one?.definition ?? {};
  assert.deepEqual(
    [overlap, retry, timeout, timezone, startDeadline],
    ['terminateOther', { attempts: 7, delay: '10s', maxDelay: '6m' }, 'none', 'UTC', undefined],
  );
  assert.deepEqual(one?.argv, ['docker', 'run', '--rm', 'backup:1', '--full']);
  const [docker] = planManifests([{ name: 'a', text: hello }], 'docker').schedules;
  assert.deepEqual(docker?.argv?.slice(3, 9), ['-e', 'WHO=world', '-w', '/srv', '--entrypoint', '/bin/sh']);
});

/** A CronJob that runs `echo`, with these fields in the place of its own. */
function cronJob(fields: { metadata?: unknown; spec?: unknown; job?: object; container?: unknown }): string {
  const { container = { name: 'a', command: ['echo'] }, job = {}, metadata = { name: 'one' } } = fields;
  const template = { spec: { containers: [container] } };
  const spec =
    typeof fields.spec === 'object' && fields.spec !== null
      ? { schedule: '0 2 * * *', jobTemplate: { spec: { template, ...job } }, ...fields.spec }
      : fields.spec;
  return JSON.stringify({ kind: 'CronJob', metadata, spec });
}

const planOf = (...texts: string[]) =>
  planManifests([{ name: 'all', text: texts.join('\n---\n') }], 'command');

test('manifests of a wrong shape are told with the field, and none is taken for something else', () => {
  const cases: [string, RegExp][] = [
    [cronJob({ spec: 7 }), /^Its "spec" is "7", and no map of fields\.$/],
    [cronJob({ spec: {}, metadata: { name: 123 } }), /^Its "name" is "123", and no text/],
    [cronJob({ spec: {}, metadata: 'one' }), /^Its "metadata" is "one", and no map/],
    [cronJob({ spec: { schedule: 5 } }), /^Its "schedule" is "5", and no text/],
    [cronJob({ spec: { timeZone: '' } }), /^There is no time zone ""/],
    [cronJob({ spec: { timeZone: 'Local' } }), /^There is no time zone "Local"/],
    // Taken for false it would begin to run.
    [cronJob({ spec: { suspend: 'true' } }), /^Its "suspend" is "true", and neither true nor false\./],
    [cronJob({ spec: { concurrencyPolicy: 'forbid' } }), /"forbid"\. Did you mean "Forbid"\?$/],
    [cronJob({ spec: { startingDeadlineSeconds: 0 } }), /"0", and no whole number from 1 up\.$/],
    [cronJob({ spec: {}, job: { activeDeadlineSeconds: 0 } }), /"0", and no whole number from 1 up\.$/],
    [
      cronJob({ spec: {}, job: { backoffLimit: '3' } }),
      /^Its "backoffLimit" is "3", and no whole number from 0 up/,
    ],
    [cronJob({ spec: { schedule: '@every soon' } }), /soon/],
    [cronJob({ spec: {}, container: { command: 'echo hi' } }), /^Its "command" is "echo hi", and no list\.$/],
    [cronJob({ spec: {}, container: null }), /no container|no map of fields/],
    [cronJob({ spec: {}, container: { command: ['a'], env: [5] } }), /^One of its variables has no name\.$/],
    [
      cronJob({ spec: {}, metadata: { name: 'a', annotations: { 'duly/definition': '5' } } }),
      /no definition of a schedule/,
    ],
    ['{ kind: List, items: [null] }', /^An item of its list is empty\.$/],
    ['just a text', /^Expected a map of fields, got "just a text"\.$/],
    ['kind: CronJob\nspec: *nowhere', /^It is no YAML: .*alias/i],
    [
      `a: &a [x, x]\n${['b', 'c', 'd', 'e', 'f', 'g', 'h'].map((name, i) => `${name}: &${name} [${Array(9).fill(`*${'abcdefg'[i]}`).join()}]`).join('\n')}`,
      /^It is no YAML: Excessive alias count/,
    ],
  ];
  for (const [text, reason] of cases) {
    const { schedules, leftOut } = planOf(text);
    assert.deepEqual([schedules.length, leftOut.length, leftOut[0]?.kind], [0, 1, 'unreadable'], text);
    assert.match(leftOut[0]?.reason ?? '', reason);
  }
  // What is wrong in a list is told, and the rest of it read; documents without anything are nothing.
  const list = `{ kind: List, items: [null, 5, { kind: List, items: [${cronJob({ spec: {} })}] }] }`;
  const { schedules, leftOut } = planOf(
    '# nothing',
    list,
    'null',
    cronJob({ spec: { timeZone: null, suspend: null } }),
  );
  assert.deepEqual([schedules.map(({ name }) => name), leftOut.length], [['one', 'one-2'], 2]);
  assert.equal(schedules[1]?.mappings[1]?.from, 'no timeZone');
  const [zoned] = planOf(
    cronJob({ spec: { timeZone: null, schedule: 'CRON_TZ=Europe/Rome 30 2 * * *' } }),
  ).schedules;
  assert.deepEqual(zoned?.mappings[1], {
    from: 'no timeZone, but one in its schedule',
    to: 'timezone: Europe/Rome',
  });
});

test('a field that Kubernetes does not know is a hazard, with the one that was likely meant', () => {
  const [one] = planOf(
    cronJob({
      spec: { concurencyPolicy: 'Forbid' },
      job: { podFailurePolicy: { rules: [] }, colour: 'red' },
    }),
  ).schedules;
  assert.deepEqual(one?.hazards.slice(1), [
    'podFailurePolicy of its Job is not taken along',
    '"concurencyPolicy" is no field of a CronJob that is known here, and does nothing; did you mean "concurrencyPolicy"?',
    '"colour" is no field of a Job that is known here, and does nothing',
  ]);
});

test('@every is a fixed rate, and a variable may name those above it', () => {
  const env = [
    { name: 'BASE', value: '/srv' },
    { name: 'DATA', value: '$(BASE)/data:$(LATER):$$(BASE)' },
    { name: 'LATER', value: 'x' },
  ];
  const [one] = planOf(
    cronJob({
      spec: { schedule: 'TZ=Europe/Rome @every 1h30m' },
      container: { command: ['ls', '$(DATA)'], env },
    }),
  ).schedules;
  assert.deepEqual([one?.definition.cron, one?.definition.rate], [undefined, '1h30m']);
  assert.deepEqual(one?.mappings[0], { from: 'schedule: TZ=Europe/Rome @every 1h30m', to: 'rate: 1h30m' });
  assert.deepEqual(one?.argv, ['ls', '/srv/data:$(LATER):$(BASE)']);
});

test('what is no CronJob, no YAML or wrong is told, and the rest is read', () => {
  const text = `${hello}---\nkind: Service\nmetadata: { name: web }\n---\n${bare.replace('0 2 * * *', '99 * * * *')}---\n{ "kind": "List", "items": [] }\n---\nkind: [\n`;
  const { schedules, leftOut } = planManifests([{ name: 'all', text }], 'docker');
  assert.deepEqual(
    schedules.map(({ name }) => name),
    ['hello'],
  );
  assert.deepEqual(
    leftOut.map(({ name, kind, reason }) => [name, kind, reason.slice(0, 13)]),
    [
      ['', 'unreadable', 'It is no YAML'],
      ['web', 'other', 'It is a Servi'],
      ['bare', 'unreadable', 'The minute "9'],
    ],
  );
  // A list, as kubectl prints it, and the same name in two namespaces.
  const list = JSON.stringify({
    kind: 'List',
    items: ['a', 'b'].map((namespace) => ({
      kind: 'CronJob',
      metadata: { name: 'job', namespace },
      spec: {
        schedule: '@daily',
        jobTemplate: { spec: { template: { spec: { containers: [{ command: ['true'] }] } } } },
      },
    })),
  });
  assert.deepEqual(
    planManifests([{ name: 'l', text: list }], 'command').schedules.map(({ name }) => name),
    ['a-job', 'b-job'],
  );
  const alarm = `a: &a [x, x]\nb: &b [*a, *a]\nc: &c [*b, *b]\nkind: CronJob\n`;
  assert.equal(planManifests([{ name: 'bomb', text: alarm }], 'command').schedules.length, 0);
});

test('the command prints the plan, and a suspended CronJob begins paused', async (t) => {
  const folder = createFolder(t);
  folder.write({ 'k8s/a.yaml': hello, 'k8s/b.yml': bare });
  const plan = await folder.duly('import', 'kubernetes', 'k8s', '--run', 'docker');
  assert.match(plan.out, /concurrencyPolicy: Forbid +→ {2}overlap: skip/);
  assert.match(plan.out, /runs: docker run --rm backup:1 --full/);
  const done = await folder.json('import', 'kubernetes', 'k8s', '--run', 'docker', '--live');
  assert.deepEqual(
    done.schedules.map(({ name, paused, result }: { name: string; paused: boolean; result: string }) => [
      name,
      paused,
      result,
    ]),
    [
      ['hello', true, 'created'],
      ['bare', false, 'created'],
    ],
  );
  const { data } = await folder.json('schedules', 'ls');
  assert.deepEqual(
    data.map(({ name, status }: { name: string; status: string }) => [name, status]),
    [
      ['bare', 'active'],
      ['hello', 'paused'],
    ],
  );
  const refused = await folder.duly('import', 'kubernetes', 'k8s', '--live');
  assert.equal(refused.code, 2);
  assert.match(refused.err, /error\[crontab_unreadable\]: One manifest cannot be imported, the first "bare"/);
});
