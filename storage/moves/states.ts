import type { Collection } from 'mongodb';
import type { Closure } from '../../domain/api-keys.js';
import { newMoveId } from '../../domain/ids.js';
import type { Limits } from '../../domain/quotas.js';
import type { ApiKeyRecord } from '../api-keys.js';
import type { OrganisationMove, OrganisationRecord } from '../organisations.js';

export type MoveStates = ReturnType<typeof createMoveStates>;

/**
 * The state of a move in one cell: in the record of the organisation, for the command, and in its API keys, for requests.
 * Every change can be repeated.
 */
export function createMoveStates({
  organisations,
  apiKeys,
}: {
  organisations: Collection<OrganisationRecord>;
  apiKeys: Collection<ApiKeyRecord>;
}) {
  const closeKeys = async (org: string, closed: Closure) => {
    await apiKeys.updateMany({ org }, { $set: { closed } });
  };
  const openKeys = async (org: string) => {
    await apiKeys.updateMany({ org }, { $unset: { closed: '' } });
  };
  const set = async (org: string, move: Omit<OrganisationMove, 'updated_at'>, limits?: Partial<Limits>) => {
    const now = new Date();
    await organisations.updateOne(
      { _id: org },
      {
        $set: { move: { ...move, updated_at: now }, updated_at: now, ...(limits ? { limits } : {}) },
        ...(limits ? {} : { $setOnInsert: { limits: {} } }),
      },
      { upsert: true },
    );
  };

  return {
    async find(org: string): Promise<OrganisationMove | null> {
      return (await organisations.findOne({ _id: org }))?.move ?? null;
    },

    /** At the source: the organisation can be read only. */
    async close(org: string, state: 'closing' | 'closed', id = newMoveId()): Promise<string> {
      await set(org, { id, state });
      await closeKeys(org, { state: 'moving' });
      return id;
    },

    /** At the source: requests are told that the organisation has moved. */
    async markMoved(
      org: string,
      id: string,
      state: 'switching' | 'moved' | 'emptied',
      address?: string,
    ): Promise<void> {
      const where = address === undefined ? {} : { address };
      await set(org, { id, state, ...where });
      await closeKeys(org, { state: 'moved', ...where });
    },

    /** At the target: its records are being written, and nobody may use them. @param limits of the source */
    async markArriving(org: string, id: string, limits: Partial<Limits>): Promise<void> {
      await set(org, { id, state: 'arriving' }, limits);
      await closeKeys(org, { state: 'moving' });
    },

    /** At the target: from now on its records are its own, and are never copied again. */
    async markHere(org: string, id: string): Promise<void> {
      await set(org, { id, state: 'here' });
    },

    /** At the target: it serves the organisation. */
    open: openKeys,

    /** At the source: the move was cancelled. */
    async cancel(org: string): Promise<void> {
      await openKeys(org);
      await organisations.updateOne({ _id: org }, { $unset: { move: '' } });
    },

    /** At the target: the move was cancelled. */
    async forget(org: string, id: string): Promise<void> {
      await organisations.deleteOne({ _id: org, 'move.id': id });
    },

    /** @returns the limits of the organisation's own */
    async limitsOf(org: string): Promise<Partial<Limits>> {
      return (await organisations.findOne({ _id: org }))?.limits ?? {};
    },
  };
}
