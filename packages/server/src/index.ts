// The public face of `@duly/server`.
export {};
