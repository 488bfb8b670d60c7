import type { ClientSession } from 'mongodb';
import { ServiceError } from '../domain/errors.js';
import type { Access } from './collections.js';
import { inTransaction } from './transactions.js';

export interface OrganisationSummary {
  /** The organisation's name. */
  _id: string;
  /** When its first key was created. */
  created_at: Date;
  active_keys: number;
}

export type OrganisationDirectory = ReturnType<typeof createOrganisationDirectory>;

/** All organisations, for operators. An organisation exists when it has a key, also an expired or a revoked one. */
export function createOrganisationDirectory({
  mongoClient,
  organisations,
  apiKeys,
  now,
}: Access<'mongoClient' | 'organisations' | 'apiKeys' | 'now'>) {
  return {
    /**
     * Creates an organisation, by its first key.
     * @param createKey may run several times, as `inTransaction` says
     * @throws ServiceError ORGANISATION_ALREADY_EXISTS
     */
    create<Created>(org: string, createKey: (tx: ClientSession) => Promise<Created>): Promise<Created> {
      return inTransaction(mongoClient, async (tx) => {
        // Written, so that of two requests for the same organisation the second sees the key of the first.
        await organisations.updateOne(
          { _id: org },
          { $set: { updated_at: now() }, $setOnInsert: { limits: {} } },
          { upsert: true, session: tx },
        );
        if (await apiKeys.findOne({ org }, { projection: { _id: 1 }, session: tx })) {
          throw new ServiceError('ORGANISATION_ALREADY_EXISTS', `The organisation "${org}" exists.`);
        }
        return createKey(tx);
      });
    },

    /** @returns at most `limit` organisations by name, after the name `from` */
    async list({ from = '', limit }: { from: string | undefined; limit: number }): Promise<OrganisationSummary[]> {
      const names: string[] = [];
      // One step in the index for each organisation, however many keys it has.
      for (let last = from; names.length < limit; names.push(last)) {
        const next = await apiKeys.findOne({ org: { $gt: last } }, { sort: { org: 1 }, projection: { org: 1 } });
        if (!next) break;
        last = next.org;
      }
      const isActive = {
        $and: [
          { $eq: ['$revoked_at', null] },
          { $or: [{ $eq: ['$expires_at', null] }, { $gt: ['$expires_at', now()] }] },
        ],
      };
      return apiKeys
        .aggregate<OrganisationSummary>([
          { $match: { org: { $in: names } } },
          {
            $group: {
              _id: '$org',
              created_at: { $min: '$created_at' },
              active_keys: { $sum: { $cond: [isActive, 1, 0] } },
            },
          },
          { $sort: { _id: 1 } },
        ])
        .toArray();
    },
  };
}
