import { z } from 'zod';
import { bodyOf, multipart, type Postback } from '../client/index.js';

/** A tool for assistants. Its requests are those of any client of the API, which validates them. */
export interface McpTool<Input extends z.ZodObject = z.ZodObject> {
  title: string;
  description: string;
  input: Input;
  /** Whether it only reads. */
  readOnly: boolean;
  /** @throws PostbackError */
  run(postback: Postback, input: z.output<Input>): Promise<unknown>;
}

const tool = <Input extends z.ZodObject>(definition: McpTool<Input>) => definition as unknown as McpTool;

const database = z.string().describe('Name of a database; see list_databases.');
const collection = z.string().optional().describe('A part of the database; the default one when left out.');

export const MCP_TOOLS: Record<string, McpTool> = {
  query: tool({
    title: 'Search a database',
    description:
      'Finds the passages of a database that answer a question, by their words and their meaning. Each hit has its text, the ' +
      'id of its item and a score.',
    input: z.object({
      database,
      query: z.string().describe('The question, or words to look for.'),
      collection: z.string().optional().describe('Search only in this part of the database.'),
      max_results: z.number().int().default(5).describe('1 to 50'),
      expand: z
        .number()
        .int()
        .optional()
        .describe('Passages before and after each hit that are returned with it: 0 to 2.'),
      max_tokens: z.number().int().optional().describe('How many tokens the texts of all hits have together at most.'),
    }),
    readOnly: true,
    async run(postback, input) {
      const body = { ...input, graph_context: false } as never;
      return (await bodyOf(postback.POST('/query', { body }))).data;
    },
  }),

  remember: tool({
    title: 'Remember a text',
    description:
      'Stores a text in a database, so that later queries find it. It is indexed in the background; item_status shows when it ' +
      'can be found. A text with the id of an earlier one replaces it.',
    input: z.object({
      database,
      text: z.string().describe('What to remember, in full sentences that make sense on their own.'),
      id: z.string().optional().describe('An id, by which the text can be replaced later.'),
      title: z.string().optional(),
      collection,
    }),
    readOnly: false,
    async run(postback, { database, collection, ...memory }) {
      const upsert = memory.id === undefined ? ('false' as const) : ('true' as const);
      const body = { database, collection, upsert, memories: [memory] };
      const { data } = await bodyOf(postback.POST('/context/ingest', { body, bodySerializer: multipart }));
      return data.results[0];
    },
  }),

  ingest_url: tool({
    title: 'Read a web page into a database',
    description:
      'Fetches a public web page and stores its text in a database, in the background. Returns the id of its connector, with ' +
      'which item_status shows how it goes. Called again, it fetches the page again.',
    input: z.object({ database, url: z.string().describe('Address of the page, with https.'), collection }),
    readOnly: false,
    async run(postback, { database, collection, url }) {
      const body = {
        kind: 'web' as const,
        database,
        collection,
        settings: { urls: [url], max_pages: 1 },
        // A sync that was asked for runs all the same.
        schedule: { paused: true },
      };
      const connector = (await findConnector(postback, body)) ?? (await createConnector(postback, body));
      const path = { connector_id: connector };
      await bodyOf(postback.POST('/connectors/{connector_id}/sync', { params: { path } }));
      return { connector_id: connector, url, status: 'syncing' };
    },
  }),

  item_status: tool({
    title: 'Get the status of an item or a page',
    description:
      'Shows whether an item can be found by queries yet (`completed`), or why it failed. With `connector_id`, from ' +
      'ingest_url, shows how the fetching of the page went.',
    input: z.object({
      database: z.string().optional().describe('The database of the item.'),
      id: z.string().optional().describe('The id of the item.'),
      collection: z.string().optional(),
      connector_id: z.string().optional().describe('From ingest_url, instead of the other fields.'),
    }),
    readOnly: true,
    async run(postback, { connector_id, ...query }) {
      if (connector_id === undefined) {
        const { data } = await bodyOf(postback.GET('/context/status', { params: { query: query as never } }));
        return data.statuses[0];
      }
      return bodyOf(postback.GET('/connectors/{connector_id}/status', { params: { path: { connector_id } } }));
    },
  }),

  list_databases: tool({
    title: 'List databases',
    description: 'Lists the databases that can be searched, the newest first.',
    input: z.object({ cursor: z.string().optional().describe('`next_cursor` of the page before.') }),
    readOnly: true,
    async run(postback, { cursor }) {
      return (await bodyOf(postback.GET('/databases', { params: { query: { limit: 100, cursor } } }))).data;
    },
  }),
};

interface PageConnector {
  kind: 'web';
  database: string;
  collection?: string | undefined;
  settings: { urls: string[]; max_pages: number };
  schedule: { paused: boolean };
}

async function createConnector(postback: Postback, body: PageConnector): Promise<string> {
  return (await bodyOf(postback.POST('/connectors', { body: body as never }))).id;
}

/** Newest connectors that are searched for the one of a page. */
const SEARCHED_PAGES = 5;

/** @returns the connector of an earlier call for the same page */
async function findConnector(postback: Postback, page: PageConnector): Promise<string | null> {
  let cursor: string | undefined;
  for (let n = 0; n < SEARCHED_PAGES; n++) {
    const list = await bodyOf(postback.GET('/connectors', { params: { query: { limit: 100, cursor } } }));
    const found = list.connectors.find(({ kind, database, collection, settings, schedule }) => {
      const { urls, max_pages } = settings as { urls?: string[]; max_pages?: number };
      const samePage = urls?.length === 1 && urls[0] === page.settings.urls[0] && max_pages === 1;
      const samePlace = database === page.database && collection === (page.collection ?? 'default');
      return kind === 'web' && samePage && samePlace && schedule.paused;
    });
    if (found) return found.id;
    if (list.next_cursor === null) return null;
    cursor = list.next_cursor;
  }
  return null;
}
