import type { Client, WorkflowExecutionInfo } from '@temporalio/client';
import { eventually } from './eventually.js';

/** Lists the workflows that match a query when they are complete: Temporal lists a workflow some moments after its start. */
export function listedWorkflows(
  temporal: Client,
  query: string,
  complete: (listed: WorkflowExecutionInfo[]) => boolean = (listed) => listed.length > 0,
): Promise<WorkflowExecutionInfo[]> {
  return eventually(`the workflows of ${query}`, async () => {
    const listed: WorkflowExecutionInfo[] = [];
    for await (const execution of temporal.workflow.list({ query })) listed.push(execution);
    return complete(listed) && listed;
  });
}

/** @returns whether at least one of the workflows has each of the types */
export const hasTypes =
  (...types: string[]) =>
  (listed: { type: string }[]): boolean =>
    types.every((type) => listed.some((execution) => execution.type === type));
