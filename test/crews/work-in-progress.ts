import { expect } from '@jest/globals';
import type { CrashProduct, InterruptedWork } from '../support/crash-product.js';
import { type CrewClient, createCrewClient } from '../support/crew-client.js';
import { eventually } from '../support/eventually.js';
import { sendCompletion } from '../support/openai-server.js';
import { makeKey } from '../support/product.js';
import { type Receiver, startReceiver } from '../support/receiver.js';

/** An execution whose second task waits for its model, which does not respond to the killed worker. */
export function modelCall({ product, openai }: CrashProduct): InterruptedWork {
  let crew: CrewClient;
  let receiver: Receiver;
  let id: string;
  let killed = false;
  const requestsWith = (text: string) => openai.requests.filter(({ body }) => body.toString().includes(text));
  return {
    async begin() {
      openai.respondWith((request, response) => {
        if (!request.body.toString().includes('Report on')) sendCompletion(response, 'What is known.');
        else if (killed) sendCompletion(response, 'The report.');
      });
      receiver = await startReceiver();
      crew = createCrewClient(
        product.apiUrl,
        'research',
        (await makeKey(product.mongodbUri, 'model-call', 'crew_org')).key,
      );
      id = await crew.start({ topic: 'crashes' }, { taskWebhookUrl: receiver.url });
      await eventually('a request for the report', () => requestsWith('Report on').length === 1);
    },
    afterKill() {
      killed = true;
    },
    async expectToComplete() {
      expect((await crew.reaches(id, 'pending_human_input')).tasks).toMatchObject([
        { output: 'What is known.', attempts: 1 },
        { output: 'The report.', attempts: 1 },
      ]);
      expect(requestsWith('Find out about crashes')).toHaveLength(1);
      // A callback that was being sent when the worker was killed is sent again, with the same delivery id.
      const events = () =>
        new Map(receiver.received.map(({ headers, json }) => [headers['x-service-delivery-id'], json.event]));
      await eventually('both callbacks', () => events().size === 2);
      expect([...events().values()].sort()).toEqual(['task_completed', 'task_pending_human_input']);
      await receiver.close();
    },
  };
}
