/** Seeded defects: each breaks the engine or what passes between it and the nodes, and the checker must catch it. */
import { coordinationMutations } from './coordination.ts';
import { jobMutations } from './jobs.ts';
import type { Mutation } from './mutation.ts';
import { scheduleMutations } from './schedules.ts';
import { workerMutations } from './workers.ts';

export type { Mutation } from './mutation.ts';

/** Every defect. */
export const mutations: readonly Mutation[] = [
  ...jobMutations,
  ...workerMutations,
  ...scheduleMutations,
  ...coordinationMutations,
];
