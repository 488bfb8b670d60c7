import { inBatches, type Migration } from '../../storage/migrations/migration.js';

/**
 * A migration of 50 documents in batches of 10, which counts the changes of each.
 * @param onSave called after each batch
 */
export const backfill = (onSave: (position: unknown) => Promise<void> = async () => undefined): Migration => ({
  number: 1,
  name: 'count the changes',
  phase: 'expand',
  run: ({ db, position, save }) =>
    inBatches(
      {
        db,
        position,
        save: async (reached) => {
          await save(reached);
          await onSave(reached);
        },
      },
      {
        collection: 'things',
        filter: { kind: 'old' },
        change: { $inc: { changes: 1 } },
        batch: 10,
      },
    ),
});
