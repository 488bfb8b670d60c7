import Router from '@koa/router';
import type { Middleware } from 'koa';
import type { Principal } from '../../domain/api-keys.js';
import type { DeployedCrew, InvalidCrew } from '../../domain/crews/crews.js';
import { ServiceError } from '../../domain/errors.js';
import type { Dependencies } from '../dependencies.js';
import type { RequestState } from '../request-context.js';
import { crewOperation } from './document.js';
import { crewsSchema, describeInputs, inputsSchema } from './responses.js';

/** The crews in the folder of crews as they are now, by name. */
export interface CrewsByName {
  crews(): ReadonlyMap<string, DeployedCrew>;
  /** Also those of which an earlier version runs. */
  invalidCrews(): ReadonlyMap<string, InvalidCrew>;
}

/** The deployed crews and their inputs. */
export function deployedCrewRoutes(deps: Dependencies): Router<RequestState> {
  const { crews, invalidCrews, models } = deps;
  const router = new Router<RequestState>({ prefix: '/crews' });

  router.get(
    '/',
    organisationOnly,
    crewOperation({ summary: 'List crews', response: crewsSchema }, (_ctx, { org, respond }) =>
      respond({
        crews: [...crews().values()]
          .filter((crew) => isFor(crew, org))
          .map(({ name, inputs, tasks, agents, warnings }) => ({
            name,
            base_path: `/crews/${name}`,
            inputs,
            tasks: tasks.map(({ name: task_id, agent, human_input, context, async_execution = false }) => {
              return { task_id, agent, human_input, context, async_execution };
            }),
            agents: agents.map(({ name: agent, role, llm, tools }) => ({
              name: agent,
              role,
              tools,
              model: models.get(llm).label,
            })),
            warnings,
          })),
        invalid: [...invalidCrews()]
          .filter(([, crew]) => isFor(crew, org))
          .map(([name, { problems }]) => ({ name, problems: [...problems] })),
      }),
    ),
  );

  router.get(
    '/:crew/inputs',
    ownCrewOnly,
    crewOperation(
      { summary: 'List the inputs of a crew', response: inputsSchema, errors: ['NOT_FOUND'] },
      (ctx, { org, respond }) => respond(describeInputs(requireCrew(deps, org, ctx.params.crew!))),
    ),
  );

  return router;
}

/** Excludes keys of kind `crew_user`. @throws ServiceError FORBIDDEN */
export const organisationOnly: Middleware<RequestState> = (ctx, next) => {
  requireOrganisation(ctx.state.principal);
  return next();
};

/** Excludes keys of kind `crew_user` that were made for other crews. @throws ServiceError FORBIDDEN */
export const ownCrewOnly: Middleware<RequestState> = (ctx, next) => {
  const { crews } = ctx.state.principal;
  const { crew } = ctx.params as { crew?: string };
  if (crews && crew !== undefined && !crews.includes(crew)) {
    throw new ServiceError('FORBIDDEN', `This key was made for other crews than "${crew}".`);
  }
  return next();
};

/** @throws ServiceError FORBIDDEN for a key of kind `crew_user` */
export function requireOrganisation({ kind }: Principal): void {
  if (kind === 'crew_org') return;
  throw new ServiceError(
    'FORBIDDEN',
    'A key of kind crew_user is not allowed here. This needs a key of kind crew_org.',
  );
}

/** @throws ServiceError NOT_FOUND, also when the crew is for other organisations, or has mistakes in its files */
export function requireCrew({ crews, invalidCrews }: CrewsByName, org: string, name: string): DeployedCrew {
  const crew = crews().get(name);
  if (crew && isFor(crew, org)) return crew;
  const invalid = invalidCrews().get(name);
  if (!invalid || !isFor(invalid, org)) throw new ServiceError('NOT_FOUND', `There is no crew "${name}".`);
  throw new ServiceError('NOT_FOUND', `The files of the crew "${name}" have mistakes, which GET /crews lists.`);
}

function isFor({ organisations }: { organisations: readonly string[] | null }, org: string): boolean {
  return organisations === null || organisations.includes(org);
}
