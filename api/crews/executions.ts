import Router from '@koa/router';
import type { Logger } from 'pino';
import type { z } from 'zod';
import type { Json } from '../../domain/canonical-json.js';
import { type CrewDefinition, type CrewInputs, kickoffRequestSchema, webhookUrlsOf } from '../../domain/crews/crews.js';
import { ServiceError } from '../../domain/errors.js';
import { newExecutionId } from '../../domain/ids.js';
import type { OutboundClient } from '../../domain/outbound.js';
import type { CrewExecutionRecord, CrewExecutions } from '../../storage/crews/executions.js';
import type { IdempotencyKeys } from '../../storage/idempotency-keys.js';
import type { CrewStarters } from '../../temporal/crews/starters.js';
import { startOrDefer } from '../../temporal/workflow-starter.js';
import { readExact, writeExact } from '../exact-json.js';
import type { RequestState } from '../request-context.js';
import { crewOperation } from './document.js';
import { describeExecution, inputsSchema, kickedOffSchema, statusSchema } from './responses.js';
import { notFound, organisationOnly, rejectBlockedUrls } from './validation.js';

export interface ExecutionDependencies {
  crews: ReadonlyMap<string, CrewDefinition>;
  crewExecutions: CrewExecutions;
  idempotencyKeys: IdempotencyKeys;
  starters: CrewStarters;
  outbound: OutboundClient;
  log: Logger;
}

/** Executions of a deployed crew: what it wants to know, its start, how far it is. */
export function executionRoutes(deps: ExecutionDependencies): Router<RequestState> {
  const router = new Router<RequestState>({ prefix: '/crews/:crew' });

  router.get(
    '/inputs',
    crewOperation(
      { summary: 'The inputs a kickoff needs', status: 200, response: inputsSchema, errors: ['NOT_FOUND'] },
      (ctx, { respond }) => respond({ inputs: deployed(ctx.params.crew!).inputs }),
    ),
  );

  router.post(
    '/kickoff',
    organisationOnly(),
    crewOperation(
      {
        summary: 'Start an execution',
        body: kickoffRequestSchema,
        example: {
          inputs: { customer_message: 'Where is my parcel?', notes: 'Parcels take two days.' },
          meta: { ticket: 4711 },
          taskWebhookUrl: 'https://example.com/hooks/crews',
          crewWebhookUrl: 'https://example.com/hooks/crews',
        },
        status: 200,
        response: kickedOffSchema,
        errors: ['NOT_FOUND'],
        idempotencyKeys: deps.idempotencyKeys,
      },
      async (ctx, { body, respondWith }) => {
        const crew = deployed(ctx.params.crew!);
        requireInputs(crew, body.inputs);
        const given = readGiven(body, ctx.request.text!);
        const urls = webhookUrlsOf(body);
        await rejectBlockedUrls(deps.outbound, urls);
        const execution = newExecution(ctx.state.principal.org, crew, given, urls);
        const kickoff_id = execution._id;
        await respondWith({ kickoff_id }, (tx) => deps.crewExecutions.add(execution, tx));
        await startOrDefer(deps.log, 'execution', { kickoff_id }, () => deps.starters.startCrew(execution));
      },
    ),
  );

  router.get(
    '/:kickoff_id/status',
    crewOperation(
      { summary: 'How far an execution is', status: 200, response: statusSchema, errors: ['NOT_FOUND'] },
      async (ctx, { respond }) => {
        const { crew, kickoff_id } = ctx.params;
        // An execution can outlive its crew's deployment, and its status with it.
        const execution = await deps.crewExecutions.findForOrg(ctx.state.principal.org, crew!, kickoff_id!);
        if (!execution) throw notFound(`execution "${kickoff_id}"`);
        respond(describeExecution(execution, new Date()));
      },
    ),
  );

  return router;

  function deployed(name: string): CrewDefinition {
    const crew = deps.crews.get(name);
    if (!crew) throw notFound(`crew "${name}"`);
    return crew;
  }
}

function requireInputs(crew: CrewDefinition, inputs: object): void {
  const missing = crew.inputs.filter((name) => !Object.hasOwn(inputs, name));
  if (missing.length > 0) throw new ServiceError('INVALID_PARAMETERS', `inputs: ${missing.join(', ')} missing`);
}

/**
 * Inputs as they stand in a text, and the meta as it comes back, both with the client's own numbers.
 * @param text the body as it came
 */
function readGiven(body: z.output<typeof kickoffRequestSchema>, text: string): { inputs: CrewInputs; meta?: string } {
  const names = Object.keys(body.inputs);
  if (names.length === 0 && body.meta === undefined) return { inputs: {} };
  const { inputs, meta } = readExact(text) as { inputs: { [name: string]: Json }; meta?: Json };
  const textOf = (name: string, value: Json) => (typeof value === 'string' ? value : writeExact(name, value));
  return {
    inputs: Object.fromEntries(names.map((name) => [name, textOf(`inputs.${name}`, inputs[name]!)])),
    ...(meta === undefined ? {} : { meta: writeExact('meta', meta) }),
  };
}

function newExecution(
  org: string,
  crew: CrewDefinition,
  { inputs, meta }: { inputs: CrewInputs; meta?: string },
  urls: CrewExecutionRecord['urls'],
): CrewExecutionRecord {
  const now = new Date();
  return {
    _id: newExecutionId(),
    org,
    crew: crew.name,
    definition: crew,
    inputs: JSON.stringify(inputs),
    meta: meta ?? null,
    status: 'running',
    urls,
    tasks: crew.tasks.map(({ name, agent }) => {
      return { task_id: name, agent, status: 'pending', attempts: 0, output: null, model: null };
    }),
    error_message: null,
    check_at: now,
    created_at: now,
    finished_at: null,
    expires_at: null,
  };
}
