/** The part of the demo about crews: agents draft a reply, a person approves it, and the crew goes on. */
import { type ApiAccess, request } from '../api-client.js';
import type { DemoReceiver } from './receiver.js';
import { printDone, printHeading, printQuote, printWaiting } from './screen.js';
import { until } from './until.js';

const CREW = 'support-reply';
const INPUTS = {
  customer_message: 'My parcel with the lamp has not arrived yet. When will it?',
  notes: 'Parcels to the islands leave with the ferry on Tuesday. They arrive on Thursday. Late parcels are free.',
};
const FEEDBACK = 'Good. Thank the customer for waiting.';

/** @returns the id of the execution */
export async function startCrew(api: ApiAccess, receiver: DemoReceiver): Promise<string> {
  const secret = await request(api, 'POST', '/crews/signing-secret', { generate_signing_secret: true });
  receiver.crewSecret = secret.signing_secret;
  const kickoff = { inputs: INPUTS, ...callbackUrls(receiver) };
  return (await request(api, 'POST', `/crews/${CREW}/kickoff`, kickoff)).kickoff_id;
}

export async function showCrew(api: ApiAccess, receiver: DemoReceiver, executionId: string): Promise<void> {
  printHeading(`Crew: ${CREW}`, 'classifies a message, drafts a reply, waits for a person');
  const waiting = await until('the draft', () => {
    for (const event of receiver.crewEvents) {
      if (event.event === 'task_pending_human_input' && event.execution_id === executionId) return event;
    }
    return undefined;
  });
  printWaiting(`${waiting.task_id} waits for a person; the callback says so, HMAC-SHA256 verified`);
  printQuote('the draft', String(waiting.output), 2);
  await request(api, 'POST', `/crews/${CREW}/resume`, {
    execution_id: executionId,
    task_id: waiting.task_id,
    is_approve: true,
    human_feedback: FEEDBACK,
    // A resume does not keep the URLs of the kickoff.
    ...callbackUrls(receiver),
  });
  printDone(`approved: “${FEEDBACK}”`);
  await until('the end of the crew', () => {
    return receiver.crewEvents.find((event) => event.event === 'crew_completed' && event.execution_id === executionId);
  });
  printDone('the crew has completed, and its last callback is verified');
}

function callbackUrls({ url }: DemoReceiver) {
  return { taskWebhookUrl: `${url}/crews`, crewWebhookUrl: `${url}/crews` };
}
