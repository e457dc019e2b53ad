/** Where a process can be told to die, and what is true of the store then. */
export const killPoints = {
  'after claim': 'leases are given, and their holder has not heard of them',
  'before begin': 'an attempt is to start whose beginning is not written',
  'after begin': "an attempt's beginning is written, its handler not entered",
  'after handler': "a handler's work is done, and nobody knows",
  'before settle': 'an outcome is decided and not handed in',
  'after settle': 'an outcome is recorded, and its sender has not heard of it',
  'between plan and fire': 'slots are decided and not recorded',
  'after fire': 'slots are recorded, and their node has not heard of it',
  'before commit': "a job is completed in the program's own transaction, which is not committed",
  'after commit': 'that transaction is committed, and no worker has heard of it',
  'after reap': 'lost leases are taken over and not judged',
} as const;

/** A point at which a node can be told to die. */
export type KillPoint = keyof typeof killPoints;

/** All of them. */
export const killPointNames = Object.keys(killPoints) as KillPoint[];
