/** A step of an attempt at a task: what a model or a tool gave. */
export interface CrewStepRecord {
  /** Execution, task, attempt, step and (of a tool) call. */
  _id: string;
  execution: string;
  task: string;
  attempt: number;
  step: number;
  /** Of a tool call; null for the model's. */
  call: number | null;
  /** An `AgentStep` as JSON. */
  content: string;
  expires_at: Date | null;
}
