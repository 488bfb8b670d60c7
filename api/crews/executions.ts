import Router, { type RouterContext } from '@koa/router';
import type { z } from 'zod';
import type { Json } from '../../domain/canonical-json.js';
import {
  type CrewInputs,
  type DeployedCrew,
  kickoffRequestSchema,
  queriesDatabases,
  type WebhookUrls,
  webhookFieldsOf,
  webhookUrlsOf,
} from '../../domain/crews/crews.js';
import { ServiceError } from '../../domain/errors.js';
import type { OutboundClient } from '../../domain/outbound.js';
import { type CrewExecutionRecord, newExecution } from '../../storage/crews/execution-record.js';
import { startOrDefer } from '../../temporal/workflow-starter.js';
import type { Dependencies } from '../dependencies.js';
import { canonicalFieldJson, parseKeepingNumbers } from '../json-body.js';
import { requireScope } from '../operation.js';
import type { RequestState } from '../request-context.js';
import { rejectBlockedUrl } from '../validation.js';
import { organisationOnly, ownCrewOnly, requireCrew } from './deployed-crews.js';
import { crewOperation } from './document.js';
import {
  cancelledSchema,
  describeExecution,
  describeListedStep,
  kickedOffSchema,
  statusSchema,
  stepsSchema,
} from './responses.js';

/** Executions of a crew: kickoff, status and cancellation. */
export function executionRoutes(deps: Dependencies): Router<RequestState> {
  const router = new Router<RequestState>({ prefix: '/crews/:crew' });

  router.post(
    '/kickoff',
    organisationOnly,
    crewOperation(
      {
        summary: 'Start an execution',
        description: 'A crew whose agents query databases also needs the scope `read`.',
        body: kickoffRequestSchema,
        example: {
          inputs: { customer_message: 'Where is my parcel?', notes: 'Parcels take two days.' },
          meta: { ticket: 4711 },
          taskWebhookUrl: 'https://example.com/hooks/crews',
          crewWebhookUrl: 'https://example.com/hooks/crews',
        },
        response: kickedOffSchema,
        errors: ['NOT_FOUND'],
        idempotencyKeys: deps.idempotencyKeys,
      },
      async (ctx, { body, respondWith }) => {
        const { principal } = ctx.state;
        const crew = requireCrew(deps, principal.org, ctx.params.crew!);
        // Through the crew, the client reads the data that the agents query.
        if (queriesDatabases(crew)) requireScope(principal, 'read');
        const given = readInputsAndMeta(body, ctx.request.text!);
        given.inputs = withDefaults(crew, given.inputs);
        const urls = webhookUrlsOf(body);
        await rejectBlockedUrls(deps.outbound, urls);
        if (crew.agents.some(({ llm }) => deps.models.get(llm).metered))
          await deps.quotas.requireTokens(principal.org, deps.now());
        const { input_settings: _settings, warnings: _warnings, ...definition } = crew;
        const execution = newExecution(principal.org, definition, given, urls, deps.now());
        const kickoff_id = execution._id;
        if (body.webhookHeaders) {
          execution.headers = deps.crewHeaders.seal(kickoff_id, body.webhookHeaders);
          execution.bytes += execution.headers?.sealed.length() ?? 0;
        }
        await respondWith({ kickoff_id, execution_id: kickoff_id }, (tx) =>
          deps.quotas.admit(
            execution.org,
            { running_crews: 1, stored_bytes: execution.bytes },
            (session) => deps.crewExecutions.add(execution, session),
            tx,
          ),
        );
        await startOrDefer(deps.log, 'execution', { kickoff_id }, () => deps.starters.startCrew(execution));
      },
    ),
  );

  router.get(
    '/:kickoff_id/status',
    ownCrewOnly,
    crewOperation(
      { summary: 'Get execution status', response: statusSchema, errors: ['NOT_FOUND'] },
      async (ctx, { respond }) => {
        respond(describeExecution(await requireExecution(deps, ctx), deps.now(), deps.publicUrl));
      },
    ),
  );

  router.get(
    '/:kickoff_id/tasks/:task_id/steps',
    organisationOnly,
    crewOperation(
      {
        summary: 'List the steps of a task',
        description:
          'Thoughts and uses of tools in the latest attempt, so far: poll it to watch an agent work. Long results are cut. Steps are ' +
          'kept until the execution ends; then the list is empty.',
        response: stepsSchema,
        errors: ['NOT_FOUND'],
      },
      async (ctx, { respond }) => {
        const id = ctx.params.task_id!;
        const { _id, org, tasks } = await requireExecution(deps, ctx);
        const task = tasks.find(({ task_id }) => task_id === id);
        if (!task) throw new ServiceError('NOT_FOUND', `There is no task "${id}" in this execution.`);
        const { task_id, attempts: attempt } = task;
        const steps = await deps.crewSteps.listByAttempt({ execution: _id, org, task: task_id, attempt });
        respond({ task_id, attempt, steps: steps.map(describeListedStep) });
      },
    ),
  );

  router.post(
    '/:kickoff_id/cancel',
    organisationOnly,
    crewOperation(
      {
        summary: 'Cancel an execution',
        description:
          'The status becomes `error` with the error code `cancelled`, unless the execution completes first.',
        status: 202,
        response: cancelledSchema,
        errors: ['NOT_FOUND'],
      },
      async (ctx, { org, respond }) => {
        const { crew, kickoff_id } = ctx.params;
        const execution = await deps.crewExecutions.requestCancel(org, crew!, kickoff_id!);
        if (!execution) {
          const { status } = await requireExecution(deps, ctx);
          throw new ServiceError('INVALID_PARAMETERS', `The execution has already ended with status ${status}.`);
        }
        const { _id } = execution;
        await startOrDefer(deps.log, 'cancellation', { kickoff_id: _id }, () => deps.starters.cancelCrew(execution));
        const message = 'The execution is being cancelled.';
        respond({ kickoff_id: _id, execution_id: _id, status: 'cancelling', message });
      },
    ),
  );

  return router;
}

/**
 * Finds an execution of the crew in the path, which need not be deployed any more.
 * @param id by default that in the path
 * @throws ServiceError NOT_FOUND
 */
export async function requireExecution(
  { crewExecutions }: Dependencies,
  { state, params }: RouterContext<RequestState>,
  id = params.kickoff_id!,
): Promise<CrewExecutionRecord> {
  const execution = await crewExecutions.findForOrg(state.principal.org, params.crew!, id);
  if (!execution) throw new ServiceError('NOT_FOUND', `There is no execution "${id}".`);
  return execution;
}

/** @throws ServiceError VALIDATION_ERROR that names the first URL to which Postback never sends requests */
export async function rejectBlockedUrls(outbound: OutboundClient, urls: WebhookUrls): Promise<void> {
  for (const [field, url] of Object.entries(webhookFieldsOf(urls))) await rejectBlockedUrl(outbound, field, url);
}

/** Adds the defaults of inputs that were not given. @throws ServiceError INVALID_PARAMETERS for inputs without a default */
function withDefaults(crew: DeployedCrew, given: CrewInputs): CrewInputs {
  const settings = new Map(Object.entries(crew.input_settings));
  const defaults = crew.inputs.flatMap((name) => {
    const text = settings.get(name)?.default ?? null;
    return text === null || Object.hasOwn(given, name) ? [] : [[name, text]];
  });
  const inputs: CrewInputs = { ...given, ...Object.fromEntries(defaults) };
  const missing = crew.inputs.filter((name) => !Object.hasOwn(inputs, name));
  if (missing.length > 0)
    throw new ServiceError(
      'INVALID_PARAMETERS',
      `inputs: ${missing.join(', ')} ${missing.length === 1 ? 'is' : 'are'} required`,
    );
  return inputs;
}

/**
 * Reads inputs as texts to fill in, and `meta` as canonical JSON, both with the numbers as the client wrote them.
 * @param text the body as it was sent
 */
function readInputsAndMeta(
  body: z.output<typeof kickoffRequestSchema>,
  text: string,
): { inputs: CrewInputs; meta?: string } {
  const names = Object.keys(body.inputs);
  if (names.length === 0 && body.meta === undefined) return { inputs: {} };
  const { inputs, meta } = parseKeepingNumbers(text) as { inputs: { [name: string]: Json }; meta?: Json };
  const textOf = (name: string, value: Json) => (typeof value === 'string' ? value : canonicalFieldJson(name, value));
  return {
    inputs: Object.fromEntries(names.map((name) => [name, textOf(`inputs.${name}`, inputs[name]!)])),
    ...(meta === undefined ? {} : { meta: canonicalFieldJson('meta', meta) }),
  };
}
