import { createHash } from 'node:crypto';
import type { Problem } from '../http/problem.ts';
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
export function signInPage({ key, action }: { key: KeyInfo; action: string }): string {
  const tenant = key.tenant === null ? '' : `, tenant <b>${escapeHtml(key.tenant)}</b>`;
  // The server cannot name the session: a page opened from another site does not get its strict cookie.
  // The button has no focus, so that a key pressed for another page does not confirm.
  return htmlPage(
    'Sign in to Duly?',
    `<p>The link carries the key <b>${escapeHtml(key.id)}</b>: scope <b>${key.scope}</b>${tenant}.</p>
<p>Signing in replaces the current session of this browser, if there is one.</p>
<p>Continue only if you opened this link yourself.</p>
<form method="post" action="${escapeHtml(action)}"><button>Sign in</button></form>`,
  );
}

/** The page for a link that cannot sign a browser in. */
export function signInRefusedPage({ problem, dashboard }: { problem: Problem; dashboard: string }): string {
  const hint = problem.hint === undefined ? '' : `\n<p>${escapeHtml(problem.hint)}</p>`;
  return htmlPage(
    'You are not signed in',
    `<p>${escapeHtml(problem.detail)}</p>${hint}
<p><a href="${escapeHtml(dashboard)}">Sign in on the dashboard</a></p>`,
  );
}

function htmlPage(title: string, content: string): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>${title}</title>
<style>${style}</style>
</head>
<body>
<main>
<h1>${title}</h1>
${content}
</main>
</body>
</html>
`;
}

function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}
