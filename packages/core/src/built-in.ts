/** How the names of the tasks begin that Duly's own server and command bring along. Lists for people leave them out. */
export const builtInPrefix = 'duly:';

/** The task that sends HTTP requests. */
export const httpTaskName = `${builtInPrefix}http`;

/** The task that runs commands. */
export const commandTaskName = `${builtInPrefix}command`;

/** The task of what only records what it would have done. It runs nothing, whatever its input says, so anybody may name it. */
export const shadowTaskName = `${builtInPrefix}shadow`;
