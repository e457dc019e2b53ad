import { createHash } from 'node:crypto';
import type { Caller } from './caller.ts';
import type { KeyInfo } from './keys.ts';

const style = `
:root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif; }
body { max-width: 32rem; margin: 15vh auto; padding: 0 1rem; }
button { font: inherit; padding: 0.5rem 1.5rem; cursor: pointer; }
`;
const styleHash = createHash('sha256').update(style).digest('base64');

/** The content security policy of the page: its own style, a form to this server, and no frame around it. */
export const signInPolicy = [
  "default-src 'none'",
  `style-src 'sha256-${styleHash}'`,
  "base-uri 'none'",
  "form-action 'self'",
  "frame-ancestors 'none'",
].join('; ');

/**
 * The page that asks whether to sign in with the key of a link. Without it, another site could open such a
 * link in your browser, and what you then do would happen under its key.
 */
export function signInPage({
  key,
  current,
  action,
}: {
  key: KeyInfo;
  /** Whose session the browser has now; null: none. */
  current: Caller | null;
  action: string;
}): string {
  const tenant = key.tenant === null ? '' : `, tenant <b>${escapeHtml(key.tenant)}</b>`;
  const replaced =
    current === null
      ? ''
      : `<p>You are signed in as <b>${escapeHtml(current.actor)}</b>. This replaces it.</p>`;
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Sign in to Duly</title>
<style>${style}</style>
</head>
<body>
<main>
<h1>Sign in to Duly?</h1>
<p>The link carries the key <b>${escapeHtml(key.id)}</b>: scope <b>${key.scope}</b>${tenant}.</p>
${replaced}
<p>Continue only if you opened this link yourself.</p>
<form method="post" action="${escapeHtml(action)}"><button autofocus>Sign in</button></form>
</main>
</body>
</html>
`;
}

function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}
