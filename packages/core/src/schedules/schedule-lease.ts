/** How long a node has to decide a schedule that it took. */
export const scheduleLeaseMs = 3_000;
