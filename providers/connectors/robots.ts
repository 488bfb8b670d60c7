/** The robots.txt of sites: how it is fetched. */
import { SourceError } from '../../domain/connectors/connectors.js';
import { judgePage } from './parsing/robots.js';
import type { SourceTools } from './source.js';

const MAX_REDIRECTS = 5;
/** Bytes of a robots.txt that are read; the rest is ignored (RFC 9309, 2.5). */
const MAX_BYTES = 500 * 1024;
/** A file up to this size is judged in this process: its cost is bounded, and most are smaller. */
const SMALL = 4 * 1024;
/** Longer delays are shortened to this, so that a sync ends. */
const MAX_CRAWL_DELAY_SECONDS = 60;

/** The robots.txt of each site, read once in the lifetime of this object (RFC 9309). */
export function createRobots({ requests, parser }: Pick<SourceTools, 'requests' | 'parser'>) {
  const known = new Map<string, Promise<string>>();

  /** With a 4xx status everything is allowed; an unreachable file or a 5xx status forbids everything (RFC 9309, 2.3.1). */
  async function read(origin: string, signal: AbortSignal): Promise<string> {
    let url = `${origin}/robots.txt`;
    for (let redirects = 0; redirects <= MAX_REDIRECTS; redirects++) {
      const { status, headers, body } = await requests.read(url, {}, MAX_BYTES, signal).catch((error) => {
        if (!(error instanceof SourceError) || error.code === 'BLOCKED_ADDRESS') throw error;
        throw new SourceError('ROBOTS_UNAVAILABLE', undefined, true);
      });
      // Unlike pages, robots.txt may redirect to another site (RFC 9309, 2.3.1.2).
      if (status >= 300 && status < 400 && headers.location && URL.canParse(headers.location, url)) {
        url = new URL(headers.location, url).href;
        continue;
      }
      if (status >= 500 || status === 429) throw new SourceError('ROBOTS_UNAVAILABLE', undefined, true);
      return status >= 200 && status < 300 ? wholeLines(body) : '';
    }
    throw new SourceError('ROBOTS_UNAVAILABLE');
  }

  async function judge(robots: string, page: string, signal: AbortSignal) {
    if (robots.length <= SMALL) return judgePage({ robots, page });
    return parser.parse('robots', { robots, page }, signal).catch((error: unknown) => {
      throw error instanceof SourceError ? new SourceError('ROBOTS_UNAVAILABLE') : error;
    });
  }

  return {
    /** @returns milliseconds to wait before the request. @throws SourceError when robots.txt forbids the page */
    async crawlDelay(url: URL, signal: AbortSignal): Promise<number> {
      const robots = known.get(url.origin) ?? read(url.origin, signal);
      known.set(url.origin, robots);
      const { allowed, crawlDelay } = await judge(await robots, url.href, signal);
      if (!allowed) throw new SourceError('ROBOTS_DISALLOWED');
      return crawlDelay > 0 ? Math.min(crawlDelay, MAX_CRAWL_DELAY_SECONDS) * 1000 : 0;
    },
  };
}

/** The last line of a file that was cut off may be half a rule, which would forbid more than the whole rule. */
function wholeLines(body: Buffer): string {
  const text = body.toString('utf8');
  return body.length < MAX_BYTES ? text : text.slice(0, text.lastIndexOf('\n') + 1);
}
