import { createReadStream, readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import Router from '@koa/router';
import { guidePages } from './guides.js';
import { referencePage } from './reference-page.js';
import type { RequestState } from './request-context.js';

const packageFile = createRequire(import.meta.url).resolve('swagger-ui-dist/package.json');
const { version } = JSON.parse(readFileSync(packageFile, 'utf8')) as { version: string };

/** The files of the package that the page needs; no other file is served. */
const ASSETS = ['swagger-ui.css', 'swagger-ui-bundle.js', 'favicon-32x32.png'];

/** Separate files, because the page must not run inline scripts. */
const FILES = fileURLToPath(new URL('../../console/reference', import.meta.url));
const HOME = 'home.html';

export const PAGE_HEADERS = {
  // All files come from this server, no inline scripts or styles, no framing. The package's icons are data URLs.
  'Content-Security-Policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'X-Content-Type-Options': 'nosniff',
  'Referrer-Policy': 'no-referrer',
  'Cache-Control': 'no-cache',
};

/**
 * `/`: what this server is, and where to go. `/docs`: a page to read and try out `/openapi.json`, and the guides. They send no
 * request to another host.
 */
export function docsRoutes(): Router<RequestState> {
  const own = readdirSync(FILES).map((name) => {
    return [name === HOME ? '/' : `/docs/${name}`, [extname(name), readFileSync(join(FILES, name), 'utf8')]] as const;
  });
  const router = pageRoutes({
    '/docs': ['html', referencePage(version)],
    ...Object.fromEntries(own),
    ...Object.fromEntries(guidePages()),
  });
  for (const name of ASSETS) {
    router.get(`/docs/${name}`, (ctx) => {
      ctx.set({ ...PAGE_HEADERS, 'Cache-Control': 'public, max-age=86400' });
      ctx.type = extname(name);
      ctx.body = createReadStream(join(dirname(packageFile), name));
    });
  }
  return router;
}

type Content = string | Buffer;

/** Routes of texts, by path: each with its type and its content, or a function that returns the content. */
export function pageRoutes(
  pages: Record<string, readonly [type: string, content: Content | (() => Content)]>,
  headers: Record<string, string> = PAGE_HEADERS,
): Router<RequestState> {
  const router = new Router<RequestState>();
  for (const [path, [type, content]] of Object.entries(pages)) {
    router.get(path, (ctx) => {
      ctx.set(headers);
      ctx.type = type;
      ctx.body = typeof content === 'function' ? content() : content;
    });
  }
  return router;
}
