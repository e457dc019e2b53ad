/** Stands between the program and its output: what handlers and task modules print must not spoil what the command prints. */

/** Hands everything that is written to a stream to somebody else, until the returned function is called. */
export function redirectWrites(stream: NodeJS.WriteStream, to: (text: string) => void): () => void {
  const before = stream.write;
  const decoder = new TextDecoder();
  stream.write = ((
    chunk: string | Uint8Array,
    encoding?: BufferEncoding | ((error?: Error | null) => void),
    done?: (error?: Error | null) => void,
  ): boolean => {
    to(typeof chunk === 'string' ? chunk : decoder.decode(chunk, { stream: true }));
    const callback = typeof encoding === 'function' ? encoding : done;
    if (callback !== undefined) process.nextTick(callback);
    return true;
  }) as typeof stream.write;
  return () => {
    stream.write = before;
  };
}

/** Sends what is printed to stdout to stderr, until the returned function is called: stdout belongs to the command's answer. */
export function redirectStdout(): () => void {
  return redirectWrites(process.stdout, (text) => void process.stderr.write(text));
}
