/** What the robots.txt of a site says. */
import robotsParser from 'robots-parser';

/** The user agent of Postback in robots.txt files. */
const ROBOT = 'Postback';

/** The types of the package are those of an ES module, but it is CommonJS. */
const parseRobots = robotsParser as unknown as typeof robotsParser.default;

export interface RobotsVerdict {
  allowed: boolean;
  /** Seconds, as the file states them. */
  crawlDelay: number;
}

/** @returns what a site's robots.txt says about a page of it */
export function judgePage({ robots, page }: { robots: string; page: string }): RobotsVerdict {
  const rules = parseRobots(new URL('/robots.txt', page).href, robots);
  return { allowed: rules.isAllowed(page, ROBOT) !== false, crawlDelay: rules.getCrawlDelay(ROBOT) ?? 0 };
}
