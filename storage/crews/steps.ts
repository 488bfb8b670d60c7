import type { ClientSession, Collection } from 'mongodb';
import type { AgentStep } from '../../domain/crews/language-model.js';
import type { AttemptRef, StepRef } from '../../domain/crews/workflow-contract.js';

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

export type CrewSteps = ReturnType<typeof createCrewSteps>;

type At = StepRef & { call?: number };

/** What agents and their tools did in an attempt at a task: kept until the execution ends, so that no step is made twice. */
export function createCrewSteps({ crewSteps }: { crewSteps: Collection<CrewStepRecord> }) {
  return {
    async getById(at: At): Promise<AgentStep | null> {
      const found = await crewSteps.findOne({ _id: stepId(at) });
      return found && (JSON.parse(found.content) as AgentStep);
    },

    async add(at: At, content: AgentStep, session: ClientSession): Promise<void> {
      const { execution, task, attempt, step, call = null } = at;
      const record = { _id: stepId(at), execution, task, attempt, step, call, expires_at: null };
      await crewSteps.insertOne({ ...record, content: JSON.stringify(content) }, { session });
    },

    /** In the order in which they were made: a model's before the tool calls it asked for. */
    async listByAttempt({ execution, task, attempt }: AttemptRef): Promise<AgentStep[]> {
      const found = await crewSteps.find({ execution, task, attempt }).sort({ step: 1, call: 1 }).toArray();
      return found.map(({ content }) => JSON.parse(content));
    },
  };
}

/** Names a step for good, and with it what announces it. */
export function stepId({ execution, task, attempt, step, call }: At): string {
  return `${execution}/${task}/${attempt}/${step}${call === undefined ? '' : `/${call}`}`;
}
