// A story's day, played on virtual time: `npm run example -- stories`
import { createTestDuly } from 'duly/testing';
import { defineStories } from './stories.ts';

const t = createTestDuly();
const say = (what: string): void => console.log(`${t.now.toISOString()}  ${what}`);
const stories = defineStories(t, {
  deleteMedia: async (path) => say(`the picture ${path} is deleted`),
  removeFromIndex: async (user, id) => say(`${id} leaves the profile of ${user}`),
});

await stories.post('s1', { user: 'ada', media: 'beach.jpg' });
say('ada posts s1');
await t.advance('23h');
say(`a reader finds ${JSON.stringify(await stories.read('s1'))}`);
console.log('… every process is down for two hours …');
await t.outage('2h');
say(`a reader finds ${JSON.stringify(await stories.read('s1'))}`);
await t.runDue();
await t.stop();
