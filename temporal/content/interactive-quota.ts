import { RateLimiterMemory } from 'rate-limiter-flexible';

/** An ingest of more items is bulk work. */
const MAX_ITEMS = 5;
/** Items that an organisation may send with priority; more is bulk work in small requests, which could delay others. */
const PER_MINUTE = 60;

/** Decides which items are interactive: those of small requests, as long as their organisation sends few of them. */
export function createInteractiveQuota() {
  const limiter = new RateLimiterMemory({ points: PER_MINUTE, duration: 60 });
  return {
    async take(org: string, items: number): Promise<boolean> {
      if (items > MAX_ITEMS) return false;
      return limiter.consume(org, items).then(
        () => true,
        () => false,
      );
    },
  };
}
