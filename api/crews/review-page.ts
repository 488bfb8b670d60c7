import { readFileSync } from 'node:fs';
import { extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type Router from '@koa/router';
import { PAGE_HEADERS, pageRoutes } from '../pages.js';
import type { RequestState } from '../request-context.js';

const FILES = fileURLToPath(new URL('../../../console/review', import.meta.url));

/** Only these files run and style the page, which shows texts as texts. */
const HEADERS = {
  ...PAGE_HEADERS,
  'Content-Security-Policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; " +
    "frame-ancestors 'none'; require-trusted-types-for 'script'",
  'Cross-Origin-Opener-Policy': 'same-origin',
  'X-Robots-Tag': 'noindex',
};

/** `/review`: the same page for every link, because the token is in the fragment. Loading it decides nothing. */
export function reviewPageRoutes(): Router<RequestState> {
  const file = (name: string) => [extname(name), readFileSync(join(FILES, name))] as const;
  const files = {
    '/review': file('index.html'),
    '/review/page.js': file('page.js'),
    '/review/page.css': file('page.css'),
  };
  return pageRoutes(files, HEADERS);
}
