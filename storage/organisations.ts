import type { Collection } from 'mongodb';
import type { Limits } from '../domain/quotas.js';
import { createSharedReads } from '../domain/shared-calls.js';

/** The move of an organisation from one cell to another. Both cells have a record of it. */
export interface OrganisationMove {
  /** `mov_…`, the same in both cells. */
  id: string;
  /**
   * At the source: `closing` until the work under way has ended, `closed` while its records are copied, `switching` from
   * the moment when it serves the organisation no longer, `moved` when the target serves it, `emptied` when the records
   * that stayed were deleted. At the target: `arriving`, then `here`.
   */
  state: 'closing' | 'closed' | 'switching' | 'moved' | 'emptied' | 'arriving' | 'here';
  /** At the source: the address that clients are told. */
  address?: string;
  updated_at: Date;
}

/** Settings of one organisation. Organisations without settings have no record. */
export interface OrganisationRecord {
  /** The organisation's name. */
  _id: string;
  /** Limits that replace those of the configuration. */
  limits: Partial<Limits>;
  updated_at: Date;
  /** Set when the organisation moves to another cell, has moved there, or has come from there. */
  move?: OrganisationMove;
}

export type Organisations = ReturnType<typeof createOrganisations>;

/** The limits that operators set for single organisations. */
export function createOrganisations({ organisations }: { organisations: Collection<OrganisationRecord> }) {
  return {
    /** @returns null when the organisation has no limits of its own */
    find: createSharedReads(
      (org: string) => org,
      (org) => organisations.findOne({ _id: org }),
    ),

    /** Sets these limits; the others do not change. */
    async setLimits(org: string, limits: Partial<Limits>): Promise<void> {
      const set = Object.fromEntries(Object.entries(limits).map(([name, limit]) => [`limits.${name}`, limit]));
      await organisations.updateOne({ _id: org }, { $set: { ...set, updated_at: new Date() } }, { upsert: true });
    },

    /** Removes these limits: those of the configuration apply again. */
    async clearLimits(org: string, names: readonly string[]): Promise<void> {
      const unset = Object.fromEntries(names.map((name) => [`limits.${name}`, '' as const]));
      await organisations.updateOne({ _id: org }, { $unset: unset, $set: { updated_at: new Date() } });
    },
  };
}
