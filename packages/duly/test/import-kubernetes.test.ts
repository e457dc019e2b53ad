import assert from 'node:assert/strict';
import { test } from 'node:test';
import { planManifests } from '../src/import/kubernetes-plan.ts';
import { makeFolder } from './command.ts';

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
    task: 'duly:command',
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
  const folder = makeFolder(t);
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
