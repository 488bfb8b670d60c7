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
    crewOperation({ summary: 'List crews', status: 200, response: crewsSchema }, (ctx, { respond }) =>
      respond({
        crews: [...crews.values()]
          .filter((crew) => isFor(crew, ctx.state.principal.org))
          .map(({ name, inputs, tasks, agents }) => ({
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
      (ctx, { respond }) => respond({ inputs: requireCrew(crews, ctx.state.principal.org, ctx.params.crew!).inputs }),
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

/** @throws ServiceError NOT_FOUND, also when the crew is for other organisations */
export function requireCrew(crews: ReadonlyMap<string, CrewDefinition>, org: string, name: string): CrewDefinition {
  const crew = crews.get(name);
  if (!crew || !isFor(crew, org)) throw new ServiceError('NOT_FOUND', `There is no crew "${name}".`);
  return crew;
}

function isFor({ organisations }: CrewDefinition, org: string): boolean {
  return organisations === null || organisations.includes(org);
}
