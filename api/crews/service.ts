import Router from '@koa/router';
import type { Middleware } from 'koa';
import type { CrewDefinition } from '../../domain/crews/crews.js';
import type { ApiKeys } from '../../storage/api-keys.js';
import { authenticate } from '../authenticate.js';
import { crewErrors } from '../envelope.js';
import { jsonBody } from '../json-body.js';
import type { RequestState } from '../request-context.js';
import { routesOf, type Service } from '../service.js';
import { crewDocument, crewOperation } from './document.js';
import { type ExecutionDependencies, executionRoutes } from './executions.js';
import { crewsSchema } from './responses.js';
import { resumeRoutes } from './resume.js';
import { organisationOnly } from './validation.js';

export interface CrewServiceDependencies extends ExecutionDependencies {
  keys: ApiKeys;
  rateLimit: Middleware<RequestState>;
  /** The deployed crews by name. */
  crews: ReadonlyMap<string, CrewDefinition>;
  /** The label of the model that an agent has. */
  modelLabel(llm: string | null): string;
}

/** Crews of agents: kicked off, watched, resumed by a person. */
export function crewService(deps: CrewServiceDependencies): Service {
  return {
    paths: ['/crews'],
    errors: crewErrors,
    document: crewDocument,
    middleware: [
      authenticate(deps.keys, ['crew_org', 'crew_user']),
      deps.rateLimit,
      jsonBody(),
      routesOf(crewRoutes(deps)),
      routesOf(executionRoutes(deps)),
      routesOf(resumeRoutes(deps)),
    ],
  };
}

function crewRoutes({ crews, modelLabel }: CrewServiceDependencies): Router<RequestState> {
  const router = new Router<RequestState>({ prefix: '/crews' });

  router.get(
    '/',
    organisationOnly(),
    crewOperation({ summary: 'The deployed crews', status: 200, response: crewsSchema }, (_ctx, { respond }) =>
      respond({
        crews: [...crews.values()].map(({ name, inputs, tasks, agents }) => ({
          name,
          base_path: `/crews/${name}`,
          inputs,
          tasks: tasks.map((task) => ({ task_id: task.name, agent: task.agent, human_input: task.human_input })),
          agents: agents.map(({ name: agent, role, llm, tools }) => ({
            name: agent,
            role,
            tools,
            model: modelLabel(llm),
          })),
        })),
      }),
    ),
  );

  return router;
}
