import { builtInPrefix } from '@duly/core';

/** The task that sends HTTP requests. */
export const httpTaskName = `${builtInPrefix}http`;

/** The task that runs commands. */
export const commandTaskName = `${builtInPrefix}command`;
