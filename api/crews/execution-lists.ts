import Router from '@koa/router';
import { z } from 'zod';
import { EXECUTION_STATUSES } from '../../domain/crews/states.js';
import type { CrewExecutionRecord } from '../../storage/crews/execution-record.js';
import type { Dependencies } from '../dependencies.js';
import { byTime, pageQuery, readPage, timePosition } from '../pagination.js';
import type { RequestState } from '../request-context.js';
import { organisationOnly } from './deployed-crews.js';
import { crewOperation } from './document.js';
import { describeListed, describeWaiting, executionListSchema, waitingListSchema } from './responses.js';

const NEWEST_FIRST = byTime<CrewExecutionRecord>(({ created_at }) => created_at);
const LONGEST_WAIT_FIRST = byTime<CrewExecutionRecord>(({ waiting_since, created_at }) => waiting_since ?? created_at);

const listQuerySchema = pageQuery(NEWEST_FIRST).extend({
  status: z
    .enum([...EXECUTION_STATUSES, 'waiting'])
    .transform((status) => (status === 'waiting' ? 'pending_human_input' : status))
    .optional()
    .meta({ description: '`waiting` is short for `pending_human_input`.' }),
});

/** Lists of the executions of a crew, and of all outputs that wait for a person. */
export function executionListRoutes({ crewExecutions, publicUrl, now: clock }: Dependencies): Router<RequestState> {
  const router = new Router<RequestState>({ prefix: '/crews' });

  router.get(
    '/waiting',
    crewOperation(
      {
        summary: 'List outputs that wait for a person',
        description:
          'The longest wait first: of all crews of the organisation, or for a key of kind `crew_user` of those that it was made for.',
        query: pageQuery(LONGEST_WAIT_FIRST),
        response: waitingListSchema,
      },
      async (ctx, { query, respond }) => {
        const { org, kind, crews } = ctx.state.principal;
        const of = kind === 'crew_org' ? undefined : (crews ?? []);
        const { records, next_cursor } = await readPage(query, LONGEST_WAIT_FIRST, ({ from, limit }) =>
          crewExecutions.listWaiting(org, { crews: of, from: timePosition(from), limit }),
        );
        respond({
          waiting: records.flatMap((execution) => describeWaiting(execution, publicUrl)),
          count: records.length,
          next_cursor,
        });
      },
    ),
  );

  router.get(
    '/:crew/executions',
    organisationOnly,
    crewOperation(
      {
        summary: 'List executions',
        description: 'The crew need not be deployed any more.',
        query: listQuerySchema,
        response: executionListSchema,
      },
      async (ctx, { org, query: { status, ...page }, respond }) => {
        const { records, next_cursor } = await readPage(page, NEWEST_FIRST, ({ from, limit }) =>
          crewExecutions.listForOrg(org, ctx.params.crew!, { status, from: timePosition(from), limit }),
        );
        const now = clock();
        respond({
          executions: records.map((execution) => describeListed(execution, now)),
          count: records.length,
          next_cursor,
        });
      },
    ),
  );

  return router;
}
