import { defineTask } from 'duly';

/** A first task: duly run hello Ada --watch. Put your own beside it. */
export default defineTask({
  name: 'hello',
  every: { cron: '* * * * *', name: 'hello-every-minute' },
  run: async ({ input, log }) => {
    log(`Hello ${input ?? 'everybody'}`);
    return `Hello ${input ?? 'everybody'}`;
  },
});
