import { createPostback, type Postback, PostbackError } from '../../client/index.js';
import { type KeyKind, keyKindOf } from '../../domain/api-keys.js';
import { readConfig } from '../../runtime/config.js';
import { readDevelopmentFile } from '../data-folder.js';
import { readProfile } from './profiles.js';

/** Options that every command against a server has. */
export interface ServerOptions {
  /** Name of a profile. */
  profile?: string;
  /** Print JSON. */
  json?: boolean;
}

export interface Server {
  /** Address of the API, without a slash at the end. */
  readonly url: string;
  /** The keys that are known. */
  readonly keys: readonly string[];
  /** Address of Temporal's UI, for the instance of this folder; null when it is not known. */
  readonly temporalUiUrl: string | null;
  /** A client with a key of this kind. @throws Error when no such key is known, which says where one is looked for */
  client(kind?: KeyKind): Postback;
  /** Whether a key of this kind is known. */
  hasKey(kind: KeyKind): boolean;
}

interface Access {
  url: string;
  keys: readonly string[];
  source: string;
  temporalUiUrl?: string | null;
}

/**
 * Finds the server that a command talks to: a profile, else POSTBACK_URL with POSTBACK_API_KEY, else the
 * instance that `npm start` runs in this folder.
 * @throws Error when there is none
 */
export function findServer(options: ServerOptions): Server {
  const { url, keys, source, temporalUiUrl = null } = findAccess(options, process.env);
  const address = url.replace(/\/$/, '');
  return {
    url: address,
    keys,
    temporalUiUrl,
    hasKey: (kind) => keys.some((key) => keyKindOf(key) === kind),
    client(kind = 'api') {
      // The server decides about keys that do not show their kind.
      const key = keys.find((key) => keyKindOf(key) === kind) ?? keys.find((key) => keyKindOf(key) === null);
      if (key === undefined)
        throw new Error(
          `${source} has no key of kind ${kind}: create it with \`postback keys create --kind ${kind}\`.`,
        );
      return createPostback({ url: address, key, fetch: (request) => send(request, address) });
    },
  };
}

function findAccess({ profile }: ServerOptions, env: NodeJS.ProcessEnv): Access {
  const keys = (env.POSTBACK_API_KEY ?? '')
    .split(',')
    .map((key) => key.trim())
    .filter(Boolean);
  const name = profile ?? (env.POSTBACK_PROFILE || undefined);
  if (name !== undefined) return { ...readProfile(name, env), source: `The profile "${name}"` };
  if (env.POSTBACK_URL) return { url: env.POSTBACK_URL, keys, source: 'POSTBACK_API_KEY' };
  const started = readDevelopmentFile(readConfig(env).POSTBACK_DATA_DIR);
  if (started) {
    const { api_url: url, temporal_ui_url: temporalUiUrl } = started;
    return {
      url,
      keys: keys.length ? keys : Object.values(started.keys),
      source: 'The instance in this folder',
      temporalUiUrl,
    };
  }
  throw new Error(
    'No server is known. Set POSTBACK_URL and POSTBACK_API_KEY, add a profile (`postback profiles add`), or run `npm start` in this folder.',
  );
}

async function send(request: Request, url: string): Promise<Response> {
  try {
    return await fetch(request);
  } catch (error) {
    const { cause } = error as { cause?: { code?: string; message?: string } };
    throw new Error(
      `${url} does not respond (${cause?.code ?? cause?.message ?? (error as Error).message}). Is it running?`,
    );
  }
}

/** Adds status, code and request id to the message of a response that is an error. @returns other errors unchanged */
export function withDetails(error: unknown): unknown {
  if (!(error instanceof PostbackError)) return error;
  const { status, code, requestId, message } = error;
  const details = [`${status}${code ? ` ${code}` : ''}`, ...(requestId ? [`request ${requestId}`] : [])];
  return new Error(`${message} (${details.join(', ')})`);
}

type EntryOf<List> = List extends readonly (infer Entry)[] ? Entry : never;
type Pages<Page> = (cursor: string | undefined) => Promise<Page>;

/**
 * Requests page after page of a list.
 * @param name the field of a page with its entries
 * @param request requests the page after a cursor, the first one without
 * @param limit ends the list after so many entries
 */
export async function* everyEntry<Page extends { next_cursor: string | null }, Name extends keyof Page>(
  name: Name,
  request: Pages<Page>,
  limit = Number.POSITIVE_INFINITY,
): AsyncGenerator<EntryOf<Page[Name]>> {
  let left = limit;
  let cursor: string | undefined;
  do {
    const page = await request(cursor);
    for (const entry of page[name] as EntryOf<Page[Name]>[]) {
      if (left-- <= 0) return;
      yield entry;
    }
    cursor = page.next_cursor ?? undefined;
  } while (cursor !== undefined && left > 0);
}

/** The entries of a list, from all of its pages; see `everyEntry`. */
export async function listOf<Page extends { next_cursor: string | null }, Name extends keyof Page>(
  name: Name,
  request: Pages<Page>,
  limit?: number,
): Promise<EntryOf<Page[Name]>[]> {
  const entries: EntryOf<Page[Name]>[] = [];
  for await (const entry of everyEntry(name, request, limit)) entries.push(entry);
  return entries;
}
