import type { JobPolicy } from '../../contract/engine.ts';

/** Reads stored policies, each text once: jobs of one task share one. Frozen, because everyone who asks gets the same object. */
export type Policies = (text: string) => JobPolicy;

// One per task and set of options is usual; a program that makes a new one for every job must not fill the memory.
const policyCountMax = 1_000;

/** Makes the reader. */
export function createPolicies(): Policies {
  const policies = new Map<string, JobPolicy>();
  return (text) => {
    let policy = policies.get(text);
    if (policy === undefined) {
      policy = JSON.parse(text, (_, value) => Object.freeze(value)) as JobPolicy;
      if (policies.size >= policyCountMax) policies.clear();
      policies.set(text, policy);
    }
    return policy;
  };
}
