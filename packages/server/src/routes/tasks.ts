import { builtInPrefix, type TaskForm, taskFormKind } from '@duly/core/internal';
import { createRoute, type OpenAPIHono, z } from '@hono/zod-openapi';
import { secured } from '../auth/secured.ts';
import type { ServerContext, ServerEnv } from '../http/context.ts';
import { json, listJson, listOf } from '../schemas/answers.ts';
import { problems } from '../schemas/problem.ts';
import { newRoutes } from './new-routes.ts';

const taskSchema = z
  .strictObject({
    type: z.string(),
    workers: z.int().openapi({ description: 'How many live workers handle it.' }),
    version: z.int().nullable().openapi({ description: 'The newest that a worker handles or has reported.' }),
    input_schema: z.record(z.string(), z.unknown()).nullable().openapi({
      description:
        'What its input looks like, as JSON Schema (draft 2020-12), where the schema of the task can say it.',
    }),
  })
  .openapi('Task');

const list = createRoute({
  method: 'get',
  path: '/api/tasks',
  operationId: 'listTasks',
  tags: ['tasks'],
  summary: 'The tasks that workers handle or have reported, with what their inputs look like',
  ...secured('read', { tenant: 'refused' }),
  responses: { 200: json(listOf(taskSchema), 'By name.'), ...problems },
});

/** `/api/tasks`. */
export function taskRoutes({ duly }: ServerContext): OpenAPIHono<ServerEnv> {
  return newRoutes().openapi(list, async (c) => {
    const [nodes, forms] = await Promise.all([
      duly.nodes(),
      duly.records.list<TaskForm>(taskFormKind, { limit: 1_000 }),
    ]);
    const tasks = new Map<string, z.infer<typeof taskSchema>>();
    for (const { key, value } of forms) {
      tasks.set(key, { type: key, workers: 0, version: value.version, input_schema: value.input });
    }
    for (const node of nodes) {
      for (const { type, version } of node.tasks) {
        if (type.startsWith(builtInPrefix)) continue;
        const task = tasks.get(type) ?? { type, workers: 0, version: null, input_schema: null };
        tasks.set(type, {
          ...task,
          workers: task.workers + 1,
          version: Math.max(task.version ?? 0, version),
        });
      }
    }
    return c.json(listJson([...tasks.values()].sort((a, b) => (a.type < b.type ? -1 : 1))), 200);
  });
}
