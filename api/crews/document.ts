import { z } from 'zod';
import { EXECUTION_ERROR_CODES } from '../../domain/crews/crews.js';
import { CREW_EVENTS, type CrewEvent } from '../../domain/webhooks/events.js';
import { describeCallback } from '../callback-document.js';
import { plainEnvelope } from '../envelope.js';
import { operations } from '../operation.js';
import type { ServiceDocument } from '../service.js';
import { signatureHeaders } from '../webhooks/signing-secret.js';
import { stepSchema } from './responses.js';

const TAG = 'Crews';

export const crewOperation = operations(TAG, plainEnvelope);

const SUMMARIES: Record<CrewEvent, string> = {
  task_completed: 'A task has completed',
  task_pending_human_input: 'The output of a task waits for feedback',
  step: 'An agent has completed a step',
  crew_completed: 'An execution has completed',
  crew_failed: 'An execution has failed',
};

export const crewDocument: ServiceDocument = {
  tags: [{ name: TAG, description: 'Agents that run tasks, wait for feedback by people, and report by callbacks.' }],
  security: {
    name: 'crew_key',
    scheme: {
      type: 'http',
      scheme: 'bearer',
      description:
        'A key of kind `crew_org`. A key of kind `crew_user` can read inputs and statuses, and resume executions.',
    },
  },
  webhooks: Object.fromEntries(CREW_EVENTS.map((event) => [event, webhook(event)])),
};

function webhook(event: CrewEvent) {
  const ofTask = event !== 'crew_completed' && event !== 'crew_failed';
  const body = z.object({
    event: z.literal(event),
    execution_id: z.uuid(),
    sequence: z.int().meta({ description: 'Rises with every event of the execution; there may be gaps.' }),
    ...(ofTask ? { task_id: z.string(), agent: z.string() } : {}),
    ...(event === 'task_pending_human_input'
      ? {
          deadline: z.iso.datetime().optional(),
          review_url: z
            .string()
            .optional()
            .meta({
              description:
                'A page where a person without a key reads this output and decides. The link is a secret. Absent without ' +
                '`POSTBACK_PUBLIC_URL`.',
            }),
          reminder: z.literal(true).optional(),
        }
      : {}),
    ...(event === 'crew_failed'
      ? { error: z.string(), error_code: z.enum(EXECUTION_ERROR_CODES).optional() }
      : { output: event === 'step' ? stepSchema : z.string() }),
    meta: z.record(z.string(), z.unknown()).nullable().meta({ description: 'As sent with the kickoff.' }),
    timestamp: z.iso.datetime(),
  });
  return describeCallback({
    operationId: `crew${event.replace(/(?:^|_)(\w)/g, (_match, letter: string) => letter.toUpperCase())}`,
    summary: SUMMARIES[event],
    description:
      'Sent to the URL for this event in the kickoff or in the latest resume. A callback may arrive more than once: ' +
      'deduplicate by its delivery id. Without a 2xx response it is sent again, for about 28 hours; 410 ends that at once.',
    headers: { 'X-Service-Delivery-ID': z.string(), 'X-Service-Event': z.literal(event), ...signatureHeaders },
    body,
  });
}
