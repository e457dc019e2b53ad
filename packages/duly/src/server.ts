/** The HTTP API and the dashboard as one fetch handler. */
export * from '@duly/server';
