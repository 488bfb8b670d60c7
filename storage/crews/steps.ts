import type { ClientSession } from 'mongodb';
import type { AgentStep } from '../../domain/crews/language-model.js';
import type { AttemptRef, StepRef } from '../../domain/crews/workflow-contract.js';
import type { Access } from '../collections.js';
import { BY_ID } from '../queries.js';

/** One step of an attempt at a task: a model call, or a tool call that the model asked for. */
export interface CrewStepRecord {
  /** `<execution>/<task>/<attempt>/<step>`, and `/<call>` for a tool call. */
  _id: string;
  org: string;
  execution: string;
  task: string;
  attempt: number;
  step: number;
  /** Number of the tool call; null for a model call. */
  call: number | null;
  /** An `AgentStep` as JSON. */
  content: string;
  expires_at: Date | null;
}

export type CrewSteps = ReturnType<typeof createCrewSteps>;

/** A model call, or with `call` one of its tool calls. */
type AnyStepRef = StepRef & { call?: number };

/** Results of model and tool calls, kept until the execution finishes, so that no call is made twice. */
export function createCrewSteps({ crewSteps }: Access<'crewSteps'>) {
  return {
    /** @returns null when the call has no result yet */
    async getById(ref: AnyStepRef): Promise<AgentStep | null> {
      const found = await crewSteps.forOrg(ref.org).findOne({ _id: stepId(ref) }, BY_ID);
      return found && (JSON.parse(found.content) as AgentStep);
    },

    async add(ref: AnyStepRef, content: AgentStep, tx: ClientSession): Promise<void> {
      const { execution, org, task, attempt, step, call = null } = ref;
      const record = { _id: stepId(ref), org, execution, task, attempt, step, call, expires_at: null };
      await crewSteps.forOrg(org).insertOne({ ...record, content: JSON.stringify(content) }, { session: tx });
    },

    /** @returns the steps of an attempt in order: each model call before its tool calls */
    async listByAttempt({ execution, org, task, attempt }: AttemptRef): Promise<AgentStep[]> {
      const ofAttempt = crewSteps.forOrg(org).find({ execution, task, attempt });
      const found = await ofAttempt.sort({ step: 1, call: 1 }).toArray();
      return found.map(({ content }) => JSON.parse(content));
    },
  };
}

/** @returns the step's id, which is also part of the dedupe key of its callback */
export function stepId({ execution, task, attempt, step, call }: StepRef & { call?: number }): string {
  return `${execution}/${task}/${attempt}/${step}${call === undefined ? '' : `/${call}`}`;
}
