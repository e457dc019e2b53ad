import { type DestinationStream, type Logger as PinoLogger, pino } from 'pino';

/** How a logger is made. */
export interface LoggerOptions {
  /** `debug`, `info`, `warn` or `error`; default `info`. */
  level?: 'debug' | 'info' | 'warn' | 'error';
  /** Paths whose values are not written, beside those that always are: `request.headers.cookie`, `*.password`. */
  redact?: readonly string[];
  /** Where lines go; default the standard output. */
  destination?: DestinationStream;
}

// Where credentials are found in what programs log.
const redactedAlways = [
  'authorization',
  'cookie',
  'password',
  'secret',
  'token',
  'key',
  'headers.authorization',
  'headers.cookie',
];

/** A logger for `new Duly({ logger })` and `createServer({ logger })`: one JSON object per line, without what must not be in a log. */
export function createLogger({ level = 'info', redact = [], destination }: LoggerOptions = {}): PinoLogger {
  const paths = [...redactedAlways.flatMap((path) => [path, `*.${path}`]), ...redact];
  const options = {
    level,
    redact: { paths, censor: '[redacted]' },
    // Ours is called `error`, as in `{ error, doing }`.
    serializers: { error: pino.stdSerializers.err },
    formatters: { level: (label: string) => ({ level: label }) },
    timestamp: pino.stdTimeFunctions.isoTime,
    base: { name: 'duly' },
  };
  return destination === undefined ? pino(options) : pino(options, destination);
}
