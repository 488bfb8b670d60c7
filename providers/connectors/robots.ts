import robotsParser from 'robots-parser';
import { SourceError } from '../../domain/connectors/connectors.js';
import type { Requests } from './requests.js';

/** The user agent of Postback in robots.txt files. */
const ROBOT = 'Postback';
const MAX_REDIRECTS = 5;
/** Longer delays are shortened to this, so that a sync ends. */
const MAX_CRAWL_DELAY_SECONDS = 60;

/** The types of the package are those of an ES module, but it is CommonJS. */
const parseRobots = robotsParser as unknown as typeof robotsParser.default;

type Rules = { isAllowed(url: string): boolean; crawlDelayMs: number };

/** The robots.txt of each site, read once in the lifetime of this object (RFC 9309). */
export function createRobots(requests: Requests) {
  const known = new Map<string, Promise<Rules>>();

  /** With a 4xx status everything is allowed; an unreachable file or a 5xx status forbids everything (RFC 9309, 2.3.1). */
  async function readRules(origin: string, signal: AbortSignal): Promise<Rules> {
    let url = `${origin}/robots.txt`;
    for (let redirects = 0; redirects <= MAX_REDIRECTS; redirects++) {
      const { status, headers, body } = await requests.read(url, {}, signal).catch((error) => {
        if (!(error instanceof SourceError) || error.code === 'BLOCKED_ADDRESS') throw error;
        throw new SourceError('ROBOTS_UNAVAILABLE', undefined, true);
      });
      // Unlike pages, robots.txt may redirect to another site (RFC 9309, 2.3.1.2).
      if (status >= 300 && status < 400 && headers.location && URL.canParse(headers.location, url)) {
        url = new URL(headers.location, url).href;
        continue;
      }
      if (status >= 500 || status === 429) throw new SourceError('ROBOTS_UNAVAILABLE', undefined, true);
      const rules = parseRobots(`${origin}/robots.txt`, status >= 200 && status < 300 ? body.toString('utf8') : '');
      const seconds = Math.min(rules.getCrawlDelay(ROBOT) ?? 0, MAX_CRAWL_DELAY_SECONDS);
      return {
        isAllowed: (page) => rules.isAllowed(page, ROBOT) !== false,
        crawlDelayMs: seconds > 0 ? seconds * 1000 : 0,
      };
    }
    throw new SourceError('ROBOTS_UNAVAILABLE');
  }

  return {
    /** @returns milliseconds to wait before the request. @throws SourceError when robots.txt forbids the page */
    async crawlDelay(url: URL, signal: AbortSignal): Promise<number> {
      const rules = known.get(url.origin) ?? readRules(url.origin, signal);
      known.set(url.origin, rules);
      const { isAllowed, crawlDelayMs } = await rules;
      if (!isAllowed(url.href)) throw new SourceError('ROBOTS_DISALLOWED');
      return crawlDelayMs;
    },
  };
}
