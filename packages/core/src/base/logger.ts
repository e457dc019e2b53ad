/** Where Duly says what it finds; pino and its relatives fit as they are. */
export interface Logger {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

/** Says nothing. */
export const quietLogger: Logger = Object.freeze({ debug() {}, info() {}, warn() {}, error() {} });

/** Warnings and errors to stderr, one line each. A library that fails in silence is worse than one that speaks. */
export const stderrLogger: Logger = Object.freeze({
  debug() {},
  info() {},
  warn: (fields: object, message: string) => write('warning', fields, message),
  error: (fields: object, message: string) => write('error', fields, message),
});

function write(level: string, fields: object, message: string): void {
  const { error } = fields as { error?: unknown };
  const detail = error instanceof Error ? ` ${error.message}` : '';
  process.stderr.write(`duly ${level}: ${message}${detail}\n`);
}
