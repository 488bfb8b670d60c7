import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import Router from '@koa/router';
import type { RequestState } from '../request-context.js';

const FILES = fileURLToPath(new URL('../../../console/review', import.meta.url));

/** Only these files run and style the page, which shows texts as texts. */
const HEADERS = {
  'Content-Security-Policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; " +
    "frame-ancestors 'none'; require-trusted-types-for 'script'",
  'X-Content-Type-Options': 'nosniff',
  'Referrer-Policy': 'no-referrer',
  'Cross-Origin-Opener-Policy': 'same-origin',
  'X-Robots-Tag': 'noindex',
  'Cache-Control': 'no-cache',
};

/** `/review`: the same page for every link, because the token is in the fragment. Loading it decides nothing. */
export function reviewPageRoutes(): Router<RequestState> {
  const router = new Router<RequestState>();
  const files = { '/review': 'index.html', '/review/page.js': 'page.js', '/review/page.css': 'page.css' };
  for (const [path, name] of Object.entries(files)) {
    const content = readFileSync(join(FILES, name));
    router.get(path, (ctx) => {
      ctx.set(HEADERS);
      ctx.type = name.slice(name.lastIndexOf('.'));
      ctx.body = content;
    });
  }
  return router;
}
