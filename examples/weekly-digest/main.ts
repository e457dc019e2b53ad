// Two weeks with a change of the clock, played on virtual time: `npm run example -- weekly-digest`
import { createTestDuly } from 'duly/testing';
import { defineDigest } from './weekly-digest.ts';

const t = createTestDuly({ start: '2027-03-19T00:00:00Z' });
const { subscribe } = defineDigest(t, async (user, week) =>
  console.log(`${t.now.toISOString()}  the digest of ${week} for ${user}`),
);
await subscribe('ada in Rome', 'Europe/Rome');
await subscribe('kenji in Tokyo', 'Asia/Tokyo');
await subscribe('lin in New York', 'America/New_York');
await t.advance('14 days');
await t.stop();
