import { builtInPrefix } from '@duly/core';

/** The task that sends HTTP requests. */
export const httpTaskName = `${builtInPrefix}http`;

/** The task that runs commands. */
export const commandTaskName = `${builtInPrefix}command`;

/** The type of what only records what it would have done. It runs nothing, whatever its input says, so anybody may name it. */
export const shadowTaskName = `${builtInPrefix}shadow`;
