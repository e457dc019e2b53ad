// Written by `npm run generate` from packages/server/src/alerts/rules. Do not edit.

/** Every kind of alert rule. */
export const alertKinds = [
  {
    "kind": "stuck",
    "title": "A job runs for too long",
    "describe": "a job runs for longer than {after}",
    "fields": [
      {
        "name": "after",
        "label": "Longer than",
        "isDuration": true,
        "default": 1800000
      }
    ]
  },
  {
    "kind": "failure_rate",
    "title": "Too many jobs of one type fail",
    "describe": "more than {above} % fail within {window}, of at least {min_count}",
    "fields": [
      {
        "name": "above",
        "label": "More than, per cent",
        "isDuration": false,
        "default": 5
      },
      {
        "name": "window",
        "label": "Within",
        "isDuration": true,
        "default": 3600000
      },
      {
        "name": "min_count",
        "label": "Of at least",
        "isDuration": false,
        "default": 20
      }
    ]
  },
  {
    "kind": "failures_in_row",
    "title": "Jobs of one type, or runs of a schedule, fail in a row",
    "describe": "{count} jobs of one type, or runs of a schedule, fail in a row",
    "fields": [
      {
        "name": "count",
        "label": "How many",
        "isDuration": false,
        "default": 5
      }
    ]
  },
  {
    "kind": "schedule_deadline",
    "title": "A schedule has not succeeded by its deadline",
    "describe": "a schedule has not succeeded by its deadline",
    "fields": []
  },
  {
    "kind": "waiting",
    "title": "Jobs wait for too long",
    "describe": "the oldest job waits for longer than {after}",
    "fields": [
      {
        "name": "after",
        "label": "Longer than",
        "isDuration": true,
        "default": 600000
      }
    ]
  },
  {
    "kind": "no_worker",
    "title": "Jobs of a type have no worker",
    "describe": "jobs of a type have no worker for {after}",
    "fields": [
      {
        "name": "after",
        "label": "For longer than",
        "isDuration": true,
        "default": 60000
      }
    ]
  },
  {
    "kind": "dead_letters",
    "title": "Dead letters wait",
    "describe": "more than {above} dead letters wait",
    "fields": [
      {
        "name": "above",
        "label": "More than",
        "isDuration": false,
        "default": 0
      }
    ]
  }
] as const;
