/** Where the dashboard is mounted: the server says it with <base>, so that any sub-path works. Ends with a slash. */
export const mount = new URL('.', document.baseURI).pathname;

/** The address of something at the server, such as `api/jobs`. */
export function placeOf(path: string): string {
  return `${mount}${path.replace(/^\//, '')}`;
}
