import { type Limits, parseLimit, QUOTAS, type Quota } from '../domain/quotas.js';
import { defaultLimits } from '../runtime/config.js';
import { createModelTokens } from '../storage/model-tokens.js';
import { createOrganisations, type Organisations } from '../storage/organisations.js';
import { createQuotas } from '../storage/quotas.js';
import { createUsage } from '../storage/usage.js';
import { withCollections } from './connections.js';
import { print, table } from './remote/output.js';

interface Options {
  org: string;
  /** Print JSON. */
  json?: boolean;
}

/** `postback orgs limits show`: prints what an organisation uses, and its limits. */
export async function showLimits(options: Options): Promise<void> {
  await change(options, async () => undefined);
}

/**
 * `postback orgs limits set`: sets limits of an organisation, then prints all.
 * @param assignments such as `items=1000` or `items=unlimited`
 */
export async function setLimits(assignments: readonly string[], options: Options): Promise<void> {
  const limits: Partial<Limits> = Object.fromEntries(assignments.map(readAssignment));
  await change(options, (organisations) => organisations.setLimits(options.org, limits));
}

/** `postback orgs limits clear`: the limits of the configuration apply again. @param names all when empty */
export async function clearLimits(names: readonly string[], options: Options): Promise<void> {
  const cleared = names.length === 0 ? QUOTAS : names.map(readQuota);
  await change(options, (organisations) => organisations.clearLimits(options.org, cleared));
}

async function change(
  { org, ...output }: Options,
  work: (organisations: Organisations) => Promise<void>,
): Promise<void> {
  await withCollections(async (collections, config) => {
    const organisations = createOrganisations(collections);
    await work(organisations);
    const own = (await organisations.find(org))?.limits ?? {};
    const stores = { organisations, usage: createUsage(collections), modelTokens: createModelTokens(collections) };
    // The defaults are those of this command's environment, which should be that of the other processes.
    const usage = await createQuotas({ ...collections, ...stores }, defaultLimits(config)).usageOf(org, new Date());
    const quotas = QUOTAS.map((name) => ({ name, ...usage[name], set_for: name in own ? 'organisation' : 'all' }));
    const data = { org, quotas: Object.fromEntries(quotas.map(({ name, ...quota }) => [name, quota])) };
    print(output, data, () => {
      const rows = quotas.map(({ name, used, limit, set_for }) => {
        return { quota: name, used, limit: limit ?? 'unlimited', 'set for': set_for };
      });
      return table(rows);
    });
  });
}

function readAssignment(text: string): [Quota, number | null] {
  const [name = '', value = ''] = text.split('=');
  const limit = parseLimit(value);
  if (limit === undefined) throw new Error(`"${text}" is not a limit: use ${name}=1000 or ${name}=unlimited`);
  return [readQuota(name), limit];
}

function readQuota(name: string): Quota {
  const quota = QUOTAS.find((known) => known === name);
  if (!quota) throw new Error(`there is no quota "${name}"; the quotas are ${QUOTAS.join(', ')}`);
  return quota;
}
