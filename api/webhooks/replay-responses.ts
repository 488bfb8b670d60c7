/** Responses of the routes for bulk retries. */
import { z } from 'zod';
import type { ReplayRecord } from '../../storage/webhooks/replays.js';

const matching = z.int().meta({ description: 'Deliveries that matched when the retry was requested.' });

export const replayAcceptedSchema = z.object({
  replay_id: z.string().nullable().meta({ description: 'Null with `dry_run`.' }),
  matching,
  message: z.string(),
});

export const replaySchema = z
  .object({
    replay_id: z.string(),
    status: z.enum(['running', 'completed', 'cancelled']),
    matching,
    requeued: z
      .int()
      .meta({ description: 'Deliveries that have been queued again; the lists show what became of them.' }),
    created_at: z.iso.datetime(),
    updated_at: z.iso.datetime(),
  })
  .meta({ id: 'Replay' });

export function describeReplay({ _id, status, matching, requeued, created_at, updated_at }: ReplayRecord) {
  return {
    replay_id: _id,
    status,
    matching,
    requeued,
    created_at: created_at.toISOString(),
    updated_at: updated_at.toISOString(),
  };
}
