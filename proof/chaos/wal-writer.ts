// Makes jobs one by one, each in a commit of its own, and tells each id once it is acknowledged. Lives until it is killed.
import { Duly } from '../../packages/core/src/index.ts';

const duly = new Duly({ store: process.argv[2] as string, app: 'writer' });
const task = duly.task({ name: 'work', run: () => null });
for (;;) {
  const { id } = await task.now({ filling: 'x'.repeat(3_000) });
  process.send?.(id);
}
