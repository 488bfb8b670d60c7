import Router from '@koa/router';
import type { Middleware } from 'koa';
import type { CrewDefinition } from '../../domain/crews/crews.js';
import { ServiceError } from '../../domain/errors.js';
import type { RequestState } from '../request-context.js';
import { crewOperation } from './document.js';
import { crewsSchema, inputsSchema } from './responses.js';

export interface DeployedCrewDependencies {
  /** The deployed crews by name. */
  crews: ReadonlyMap<string, CrewDefinition>;
  /** @returns the label of the model that an agent with this `llm` uses */
  modelLabel(llm: string | null): string;
}

/** The deployed crews and their inputs. */
export function deployedCrewRoutes({ crews, modelLabel }: DeployedCrewDependencies): Router<RequestState> {
  const router = new Router<RequestState>({ prefix: '/crews' });

  router.get(
    '/',
    organisationOnly(),
    crewOperation({ summary: 'List crews', status: 200, response: crewsSchema }, (_ctx, { respond }) =>
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

  router.get(
    '/:crew/inputs',
    crewOperation(
      { summary: 'List the inputs of a crew', status: 200, response: inputsSchema, errors: ['NOT_FOUND'] },
      (ctx, { respond }) => respond({ inputs: requireCrew(crews, ctx.params.crew!).inputs }),
    ),
  );

  return router;
}

/** Excludes keys of kind `crew_user`. @throws ServiceError FORBIDDEN */
export function organisationOnly(): Middleware<RequestState> {
  return (ctx, next) => {
    if (ctx.state.principal.kind === 'crew_org') return next();
    throw new ServiceError('FORBIDDEN', 'A key of kind crew_user is not allowed here.');
  };
}

/** @throws ServiceError NOT_FOUND */
export function requireCrew(crews: ReadonlyMap<string, CrewDefinition>, name: string): CrewDefinition {
  const crew = crews.get(name);
  if (!crew) throw new ServiceError('NOT_FOUND', `There is no crew "${name}".`);
  return crew;
}
