/** The headers of every answer; pages of the dashboard have a content security policy of their own. */
export const standardHeaders = {
  'X-Content-Type-Options': 'nosniff',
  // Answers depend on the caller.
  'Cache-Control': 'no-store',
  // Pages of other origins cannot embed an answer, even with a cookie that they cannot read.
  'Cross-Origin-Resource-Policy': 'same-origin',
  'Referrer-Policy': 'no-referrer',
  'Content-Security-Policy': "default-src 'none'; frame-ancestors 'none'",
} as const;
