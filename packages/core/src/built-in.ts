/** How the names of the tasks begin that Duly's own server brings along. Lists for people leave them out. */
export const builtInPrefix = 'duly:';
