export const GET = () => new Response('theirs');
