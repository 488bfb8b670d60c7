import robotsParser from 'robots-parser';
import { SourceError } from '../../domain/connectors/connectors.js';
import type { Requests } from './request.js';

/** The name that robots.txt files know Postback by. */
const ROBOT = 'Postback';
const MAX_REDIRECTS = 5;
/** A site that asks for more is asked no slower than this, so that a sync comes to its end. */
const MAX_CRAWL_DELAY_SECONDS = 60;

/** Its types are those of an ES module, which it is not. */
const parseRobots = robotsParser as unknown as typeof robotsParser.default;

type Rules = { isAllowed(url: string): boolean; crawlDelayMs: number };

/** robots.txt of each site, read once in the life of this object (RFC 9309). */
export function createRobots(requests: Requests) {
  const known = new Map<string, Promise<Rules>>();

  /** 4xx: nothing is forbidden; out of reach or 5xx: everything is (RFC 9309, 2.3.1). */
  async function rulesOf(origin: string, signal: AbortSignal): Promise<Rules> {
    let url = `${origin}/robots.txt`;
    for (let redirects = 0; redirects <= MAX_REDIRECTS; redirects++) {
      const { status, headers, body } = await requests.read(url, {}, signal).catch((error) => {
        if (!(error instanceof SourceError) || error.code === 'BLOCKED_ADDRESS') throw error;
        throw new SourceError('ROBOTS_UNAVAILABLE', undefined, true);
      });
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
    /** @returns milliseconds to wait before the request. @throws SourceError when the page may not be asked for */
    async admit(url: URL, signal: AbortSignal): Promise<number> {
      const found = known.get(url.origin) ?? rulesOf(url.origin, signal);
      known.set(url.origin, found);
      const { isAllowed, crawlDelayMs } = await found;
      if (!isAllowed(url.href)) throw new SourceError('ROBOTS_DISALLOWED');
      return crawlDelayMs;
    },
  };
}
