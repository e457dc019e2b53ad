/** The front door: everything of the library, and what the command's config and tasks are written with. */
export * from '@duly/core';
export { type DulyConfig, defineConfig, defineTask, type TaskDefinition } from './project/define.ts';
