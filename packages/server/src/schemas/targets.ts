import { z } from '@hono/zod-openapi';
import { hasPlaceholder } from '../targets/template.ts';

const statusPattern = z.union([
  z.number().int().min(100).max(599),
  z.string().regex(/^[1-5]xx$/, 'Expected a status like 204, or "2xx".'),
]);

/** A text that the system takes for a program: it ends such texts with a NUL itself. */
function withoutNul(lengthMax: number) {
  return z
    .string()
    .max(lengthMax)
    .refine((value) => !value.includes('\0'), 'holds a NUL character');
}

// Headers that Duly or the connection sets. Several gateways read "_" as "-", so both spellings are refused.
const reservedHeader =
  /^(?:(?:duly|webhook)[-_].*|host|connection|content[-_]length|transfer[-_]encoding|upgrade|te|trailer|keep[-_]alive|proxy[-_]connection|expect)$/i;

/** An HTTP request that a job stands for. */
export const httpTarget = z
  .strictObject({
    url: z
      .string()
      .max(2_048)
      .refine(
        (url) => !hasPlaceholder(url.split('/').slice(0, 3).join('/')),
        'The host may not be a placeholder.',
      )
      .describe('http or https. Placeholders like {{input.id}} are allowed after the host.'),
    method: z
      .enum(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'])
      .optional()
      .describe('POST unless given.'),
    headers: z
      .record(z.string().regex(/^[\w!#$%&'*+.^`|~-]{1,200}$/), z.string().max(4_096))
      .superRefine((headers, check) => {
        for (const name of Object.keys(headers)) {
          if (!reservedHeader.test(name)) continue;
          check.addIssue({
            code: 'custom',
            path: [name],
            message: 'is set by Duly itself and cannot be given',
          });
        }
      })
      .optional()
      .describe('Values may have placeholders. `duly-*` and `webhook-*` are refused.'),
    body: z
      .unknown()
      .optional()
      .describe(
        'Any JSON, with placeholders; a text is sent as it is. Left out: what the job is and its input.',
      ),
    expect_status: z
      .union([statusPattern, z.array(statusPattern).min(1).max(20)])
      .optional()
      .describe(
        'Which statuses are a success; "2xx" unless given. Everything else is a failure, which is tried again.',
      ),
    timeout_ms: z.number().int().min(100).max(600_000).optional().describe('15,000 unless given.'),
    sign: z
      .boolean()
      .optional()
      .describe(
        'Signs the request as webhooks are, with the secret of targets: `GET /api/webhooks/secrets?for=targets`.',
      ),
  })
  .openapi('HttpTarget');

/** A program that a job runs. */
export const commandTarget = z
  .strictObject({
    argv: z
      .array(withoutNul(4_096))
      .min(1)
      .max(100)
      .refine((argv) => argv[0] !== '', 'names no program')
      .describe('The program and its arguments; no shell. Arguments may have placeholders.'),
    placeholders: z
      .boolean()
      .optional()
      .describe('false: the arguments are taken as they are, whatever stands in them.'),
    stdin: z.string().max(65_536).optional().describe('Given to it as it is. Left out: the input as JSON.'),
    cwd: withoutNul(1_024).optional(),
    env: z
      .record(z.string().regex(/^[A-Za-z_]\w{0,199}$/), withoutNul(4_096))
      .optional()
      .describe('Beside PATH, HOME, LANG, TZ and DULY_*; nothing else of the server is passed on.'),
  })
  .openapi('CommandTarget');

/** What a job or schedule may run instead of a task in code. */
export const target = z
  .union([z.strictObject({ http: httpTarget }), z.strictObject({ command: commandTarget })])
  .openapi('Target');

/** The input of a job of an HTTP target. */
export const httpJobInput = z.strictObject({ http: httpTarget, input: z.unknown().optional() });

/** The input of a job of a command target. */
export const commandJobInput = z.strictObject({ command: commandTarget, input: z.unknown().optional() });

/** An HTTP request that a job stands for. */
export type HttpTarget = z.infer<typeof httpTarget>;

/** A program that a job runs. */
export type CommandTarget = z.infer<typeof commandTarget>;

/** What a job or schedule may run instead of a task in code. */
export type Target = z.infer<typeof target>;
