import type { Limits } from '../domain/quotas.js';
import { createSharedReads } from '../domain/shared-calls.js';
import type { Access } from './collections.js';

/** Settings of one organisation. Organisations without settings have no record. */
export interface OrganisationRecord {
  /** The organisation's name. */
  _id: string;
  /** Limits that replace those of the configuration. */
  limits: Partial<Limits>;
  updated_at: Date;
}

export type Organisations = ReturnType<typeof createOrganisations>;

/** The limits that operators set for single organisations. */
export function createOrganisations({ organisations, now }: Access<'organisations' | 'now'>) {
  return {
    /** @returns null when the organisation has no limits of its own */
    find: createSharedReads(
      (org: string) => org,
      (org) => organisations.findOne({ _id: org }),
    ),

    /** Sets these limits; the others do not change. */
    async setLimits(org: string, limits: Partial<Limits>): Promise<void> {
      const set = Object.fromEntries(Object.entries(limits).map(([name, limit]) => [`limits.${name}`, limit]));
      await organisations.updateOne({ _id: org }, { $set: { ...set, updated_at: now() } }, { upsert: true });
    },

    /** Removes these limits: those of the configuration apply again. */
    async clearLimits(org: string, names: readonly string[]): Promise<void> {
      const unset = Object.fromEntries(names.map((name) => [`limits.${name}`, '' as const]));
      await organisations.updateOne({ _id: org }, { $unset: unset, $set: { updated_at: now() } });
    },
  };
}
