import { connectorsOf } from '../connectors.js';
import { html, startSite } from '../site.js';
import { noteOf, type Recording } from './recording.js';

const database = 'connectors';

/** Records the ways of syncs. */
export async function recordConnectors({ api, org, product, record, newest }: Recording): Promise<void> {
  await api.createDatabase(database);
  const site = await startSite({ '/page': html('Page', noteOf('of the page')) });
  const connectors = connectorsOf(api, product.mongodbUri);
  const sync = async (kind: string, settings: object) => {
    const connector = await connectors.create({ kind, database, settings });
    await connectors.sync(connector);
    const ended = `WorkflowType="syncConnector" AND PostbackSource="${connector}" AND ExecutionStatus="Completed"`;
    return { connector, workflow: await newest(ended) };
  };
  const { connector, workflow } = await sync('web', { urls: [`${site.url}/page`] });
  await record('sync-connector-completed', workflow);
  await record('sync-connector-failed', (await sync('feed', { url: `${site.url}/none` })).workflow);
  await api.del(`/connectors/${connector}?items=remove`);
  await record('remove-connector', `connector-removal/${org}/${connector}`);
  await site.close();
}
