import { dropIndexesWithoutOrg } from './indexes-without-org.js';
import type { Migration } from './migration.js';
import { nameOrganisations } from './name-organisations.js';

/** The migration after which every record names its organisation. */
export const NAMED_EVERYWHERE = 1;

/**
 * The migrations, in the order in which they run. Missing indexes are created by a step of their own, after `expand`;
 * indexes that no code needs any more are dropped by a `contract` migration.
 */
export const MIGRATIONS: readonly Migration[] = [
  {
    number: NAMED_EVERYWHERE,
    name: 'name the organisation in every record',
    phase: 'contract',
    run: (step) => nameOrganisations(step),
  },
  {
    number: 2,
    name: 'drop the indexes without the organisation',
    phase: 'contract',
    run: ({ db }) => dropIndexesWithoutOrg(db),
  },
];
