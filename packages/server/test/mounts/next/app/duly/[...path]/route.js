// As docs/guides/server.md says; the test made the server.
const handler = (request) => globalThis.dulyForNext.fetch(request);

export { handler as DELETE, handler as GET, handler as PATCH, handler as POST, handler as PUT };
