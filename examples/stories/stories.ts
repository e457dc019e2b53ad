import type { Duly } from 'duly';

/** A story of a user: shown for a day, then gone. */
export interface Story {
  user: string;
  /** Where the picture lies. */
  media: string;
}

/** What is around the stories: the files, and the index that a profile page is drawn from. */
export interface Studio {
  deleteMedia(path: string): Promise<void>;
  removeFromIndex(user: string, storyId: string): Promise<void>;
}

/** Stories that vanish after a day: for readers at once, to the millisecond; their media and index entries soon after, whatever crashes. */
export function defineStories(duly: Duly, studio: Studio) {
  // The clean-up is a job made in the same transaction as the value. It runs at least once, also when nothing ran at that instant, so each
  // of its steps must bear to be done twice: deleting what is gone is no error.
  const stories = duly.expiring<Story>('stories', {
    cleanup: async ({ input: { key, value } }) => {
      await studio.deleteMedia(value.media);
      await studio.removeFromIndex(value.user, key);
    },
  });
  return {
    post: (id: string, story: Story) => stories.put(id, story, { for: '24h' }),
    /** The story, or null once its day is over. */
    read: (id: string) => stories.get(id),
    /** Taken back by its author: gone at once, and the clean-up with it is not needed any more, so it is done here. */
    async takeBack(id: string) {
      const story = await stories.get(id);
      if (story === null) return false;
      await studio.deleteMedia(story.media);
      await studio.removeFromIndex(story.user, id);
      await stories.delete(id);
      return true;
    },
  };
}
