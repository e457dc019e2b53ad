/** A Duly on virtual time for tests, through the front door. */
export * from '@duly/core/testing';
