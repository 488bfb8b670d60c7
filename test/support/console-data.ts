import { readFileSync } from 'node:fs';
import { createClient } from './client.js';
import { createCrewClient } from './crew-client.js';
import { eventually } from './eventually.js';
import { createJobClient } from './job-client.js';
import { makeKey, type ProductAddress } from './product.js';
import { startReceiver } from './receiver.js';
import { startSite } from './site.js';

export const DATABASE = 'library';
/** A file that cannot be read without its password. */
export const LOCKED_FILE = 'locked-plan.pdf';
/** The webhook of this item is rejected until `receiver.accept()`. */
export const REJECTED_ITEM = 'visitor-notes.md';

const FILES = ['lighthouse-history.pdf', 'keeper-handbook.docx', 'lamp-log.csv', 'visitor-notes.md'];
const FEED = `<?xml version="1.0"?><rss version="2.0"><channel><title>Harbour news</title><link>https://harbour.example/</link>
<description>News</description><item><guid isPermaLink="false">g1</guid><title>Tides</title><link>https://harbour.example/g1</link>
<description>High water is at nine. The ferry to Skerry Island leaves at ten.</description></item></channel></rss>`;

export type ConsoleData = Awaited<ReturnType<typeof fillConsole>>;

/** Gives an organisation something of everything that the console shows. Resolves when the work has ended, or waits. */
export async function fillConsole({ apiUrl, mongodbUri }: ProductAddress, org: string) {
  const [{ key: apiKey }, { key: crewKey }, { key: paymentKey }] = await Promise.all([
    makeKey(mongodbUri, org),
    makeKey(mongodbUri, org, 'crew_org'),
    makeKey(mongodbUri, org, 'payment_secret'),
  ]);
  const created = await fetch(`${apiUrl}/authentication`, {
    method: 'POST',
    headers: { 'api-key': paymentKey, 'Content-Type': 'application/json' },
    body: JSON.stringify({ amount: 1250, currency: 'EUR', metadata: { order: 4711 } }),
  });
  const { authentication_id: authentication } = (await created.json()) as { authentication_id: string };
  const api = createClient(apiUrl, apiKey);
  const receiver = await startReceiver();
  const site = await startSite({ '/feed.xml': { body: FEED, type: 'application/xml' } });
  let accepts = false;
  receiver.respond = ({ json }) =>
    json.id === REJECTED_ITEM && !accepts
      ? { status: 503, body: '{"error": "the queue is full", "hint": "<b>later</b>"}' }
      : { status: 200, body: '{"ok": true}' };
  await api.post('/webhooks/indexing', { url: receiver.url });
  await api.createDatabase(DATABASE);
  const files = [
    ...FILES.map((name) => ({ name, content: readFileSync(`examples/${name}`) })),
    { name: LOCKED_FILE, content: readFileSync('test/fixtures/encrypted.pdf') },
    { name: 'harbour-notes.md', content: readFileSync('test/fixtures/harbour-notes.md') },
  ];
  const ids = files.map(({ name }) => name);
  await api.ingest({ database: DATABASE, document_metadata: JSON.stringify(ids.map((id) => ({ id }))) }, files);

  const jobs = createJobClient(apiUrl, apiKey);
  const submitted = await Promise.all([
    jobs.submit('text/language_detection/eld', { text: 'Die Bibliothek öffnet um neun Uhr.' }),
    jobs.submit(
      'text/language_detection/eld',
      { text: 'The ferry leaves at ten.' },
      { webhook_receiver: receiver.url, user_webhook_parameters: { invoice: 4711 } },
    ),
  ]);
  const crew = createCrewClient(apiUrl, 'support-reply', crewKey);
  const execution = await crew.start(
    {
      customer_message: 'My parcel was due on Monday. Where is it?',
      notes: 'Parcels take two working days. Parcels that are late are refunded after five days.',
    },
    { taskWebhookUrl: receiver.url },
  );
  const connector = await api.post('/connectors', {
    kind: 'feed',
    database: DATABASE,
    collection: 'news',
    settings: { url: `${site.url}/feed.xml` },
  });
  const connectorId = (connector.body as unknown as { id: string }).id;

  await Promise.all([
    ...ids.map((id) => api.ended(DATABASE, id)),
    ...submitted.map((job) => jobs.finished(job)),
    crew.reaches(execution, 'pending_human_input'),
    eventually('the first sync', async () => {
      const { body } = await api.get(`/connectors/${connectorId}/status`);
      return (body as unknown as { last_sync: { status: string } | null }).last_sync?.status === 'completed';
    }),
    eventually('a rejected delivery', async () => {
      const { data } = (await api.get('/webhooks/indexing/deliveries?error_code=HTTP_503')).body;
      return data.deliveries.length > 0;
    }),
  ]);
  return {
    apiKey,
    crewKey,
    paymentKey,
    authentication,
    api,
    execution,
    /** From here on the receiver accepts every webhook. */
    acceptAll: () => {
      accepts = true;
    },
    async close() {
      await api.del('/webhooks/indexing');
      await Promise.all([receiver.close(), site.close()]);
    },
  };
}
