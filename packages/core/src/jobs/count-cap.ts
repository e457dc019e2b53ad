/** Counting stops here and says so; a dashboard needs no more, and the store does not count millions. */
export const countCap = 10_000;
