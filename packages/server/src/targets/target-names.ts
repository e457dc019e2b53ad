/** All tasks that come with the server begin with this; their jobs make no webhooks. */
export const builtInPrefix = 'duly:';

/** The task that sends HTTP requests. */
export const httpTaskName = `${builtInPrefix}http`;

/** The task that runs commands. */
export const commandTaskName = `${builtInPrefix}command`;
