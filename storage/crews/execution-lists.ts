import type { ExecutionStatus } from '../../domain/crews/states.js';
import type { OrganisationRecords } from '../organisation-records.js';
import type { CrewExecutionRecord } from './execution-record.js';

/** What a list reads of an execution. */
export const LISTED = { inputs: 0, meta: 0, urls: 0, headers: 0, review_key: 0, 'tasks.output': 0 } as const;

/** A place in a list: a time, and the id among the executions of that time. */
export interface ListPosition {
  at: Date;
  id: string;
}

/** The lists of executions that clients read, page by page. */
export function createExecutionLists(crewExecutions: OrganisationRecords<CrewExecutionRecord>) {
  return {
    /** One page of the executions of a crew, newest first, without inputs and outputs. */
    listForOrg(
      org: string,
      crew: string,
      {
        status,
        before,
        limit,
      }: { status?: ExecutionStatus | undefined; before?: ListPosition | undefined; limit: number },
    ): Promise<CrewExecutionRecord[]> {
      return crewExecutions
        .forOrg(org)
        .find({
          crew,
          ...(status === undefined ? {} : { status }),
          ...(before && {
            $or: [{ created_at: { $lt: before.at } }, { created_at: before.at, _id: { $lt: before.id } }],
          }),
        })
        .project<CrewExecutionRecord>(LISTED)
        .sort({ created_at: -1, _id: -1 })
        .limit(limit)
        .toArray();
    },

    /** One page of an organisation's executions that wait for a person, longest wait first. */
    listWaiting(
      org: string,
      {
        crews,
        after,
        limit,
      }: { crews?: readonly string[] | undefined; after?: ListPosition | undefined; limit: number },
    ): Promise<CrewExecutionRecord[]> {
      return crewExecutions
        .forOrg(org)
        .find({
          status: 'pending_human_input',
          ...(crews && { crew: { $in: [...crews] } }),
          ...(after && {
            $or: [{ waiting_since: { $gt: after.at } }, { waiting_since: after.at, _id: { $gt: after.id } }],
          }),
        })
        .project<CrewExecutionRecord>({ inputs: 0, meta: 0 })
        .sort({ waiting_since: 1, _id: 1 })
        .limit(limit)
        .toArray();
    },
  };
}
