/** A typed client of the HTTP API, for Node and for browsers. */
export * from '@duly/server/client';
