import type { Duration } from '../base/duration.ts';
import type { InferInput, StandardSchema } from '../base/schema.ts';
import type { JobHandle } from '../jobs/job-handle.ts';
import type { JobOptions } from '../jobs/job-options.ts';
import type { TaskSettings } from '../jobs/task-definition.ts';
import type { RuleInput } from '../schedules/calendar/rule-input.ts';
import type { EveryDefinition, EveryOptions } from '../schedules/definition/definition.ts';
import type { Schedule } from '../schedules/schedule-view.ts';

/** What `duly.task` takes. */
export interface TaskOptions<Schema extends StandardSchema | undefined, Result>
  extends TaskSettings<Schema, Result> {
  /** Schedules of this task, declared: compared with the stored ones when a scheduler node of this app starts. */
  every?:
    | string
    | EveryDefinition<TaskInput<Schema>>
    | readonly (string | EveryDefinition<TaskInput<Schema>>)[];
}

/** The type of input a task's verbs take. */
export type TaskInput<Schema> = Schema extends StandardSchema ? InferInput<Schema> : unknown;

/** Input and options of a call; the input may be left out where the schema allows it, or where there is none. */
export type InputArguments<Input> = undefined extends Input
  ? [input?: Input, options?: JobOptions]
  : [input: Input, options?: JobOptions];

/** Input and options of `every`; the input may be left out where the schema allows it, or where there is none. */
export type EveryArguments<Input> = undefined extends Input
  ? [input?: Input, options?: EveryOptions]
  : [input: Input, options?: EveryOptions];

/** Options of a bulk call: the same for all jobs, or made for each of them. */
export type ManyOptions<Input> = JobOptions | ((input: Input, index: number) => JobOptions);

/** A defined task: creates jobs. Each call resolves when the job is durable. */
export interface Task<Input = unknown, Result = unknown> {
  readonly name: string;
  readonly version: number;
  /** In the background, as soon as possible. */
  now(...call: InputArguments<Input>): Promise<JobHandle<Input, Result>>;
  /** Once, after a delay. */
  in(delay: Duration, ...call: InputArguments<Input>): Promise<JobHandle<Input, Result>>;
  /** Once, at an instant; one in the past is due at once. */
  at(instant: Date | number | string, ...call: InputArguments<Input>): Promise<JobHandle<Input, Result>>;
  /**
   * Again and again, by a rule: a cron, or `{ cron | rate | delay | rrule, … }`. Creates a dynamic schedule, or edits the one of this
   * name to be so; the same call in five processes is one schedule.
   */
  every(rule: string | RuleInput, ...call: EveryArguments<Input>): Promise<Schedule>;
  /** One job for each input, all or none. */
  nowMany(inputs: readonly Input[], options?: ManyOptions<Input>): Promise<JobHandle<Input, Result>[]>;
  /** One job for each input after a delay, all or none. */
  inMany(
    delay: Duration,
    inputs: readonly Input[],
    options?: ManyOptions<Input>,
  ): Promise<JobHandle<Input, Result>[]>;
  /** One job for each input at an instant, all or none. */
  atMany(
    instant: Date | number | string,
    inputs: readonly Input[],
    options?: ManyOptions<Input>,
  ): Promise<JobHandle<Input, Result>[]>;
}
