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

const HEADERS = {
  // All files come from this server, no inline scripts or styles, no framing. The package's icons are data URLs.
  'Content-Security-Policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'X-Content-Type-Options': 'nosniff',
  'Referrer-Policy': 'no-referrer',
  'Cache-Control': 'no-cache',
};

const HOME = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Postback</title>
<link rel="icon" type="image/png" href="/docs/favicon-32x32.png">
<link rel="stylesheet" href="/docs/home.css">
</head>
<body>
<main>
<h1>Postback</h1>
<p>Work that takes time and ends with a signed HTTP callback: content indexing, AI jobs, crews of agents and payment
authentication.</p>
<ul>
<li><a href="/console">Console</a>: items, search, deliveries, jobs and crews of an organisation</li>
<li><a href="/docs">API documentation</a>: every route, to read and to try</li>
<li><a href="/docs/guides/quick-start">Quick start</a> and <a href="/docs/guides">all guides</a></li>
<li><a href="/openapi.json">OpenAPI document</a>: for generators and tools</li>
<li><a href="/readyz">Readiness</a>: whether requests are served</li>
</ul>
<h2>On the command line</h2>
<pre>./postback databases create library
./postback ingest examples --database library --watch
./postback query "How often does the lamp flash?" --database library
./postback listen --register
./postback doctor</pre>
</main>
</body>
</html>
`;

const HOME_STYLE = `:root { color-scheme: light dark; }
body { font: 16px/1.5 system-ui, sans-serif; margin: 0; padding: 24px; }
main { max-width: 44rem; margin: 5vh auto; }
h1 { font-size: 2rem; margin: 0; }
h2 { font-size: 1.1rem; margin-top: 2rem; }
pre { padding: 16px; border-radius: 8px; overflow-x: auto; background: light-dark(#f2f3f5, #24272c); }
a { color: light-dark(#0b57d0, #8ab4f8); }
`;

/** `/`: what this server is, and where to go. */
export function homeRoutes(): Router<RequestState> {
  return pageRoutes({ '/': ['html', HOME], '/docs/home.css': ['css', HOME_STYLE] });
}

/** `/docs`: a page to read and try out `/openapi.json`, and the guides. It sends no request to another host. */
export function docsRoutes(): Router<RequestState> {
  const own = readdirSync(FILES).map((name) => {
    return [`/docs/${name}`, [extname(name), readFileSync(join(FILES, name), 'utf8')]] as const;
  });
  const router = pageRoutes({
    '/docs': ['html', referencePage(version)],
    ...Object.fromEntries(own),
    ...Object.fromEntries(guidePages()),
  });
  for (const name of ASSETS) {
    router.get(`/docs/${name}`, (ctx) => {
      ctx.set({ ...HEADERS, 'Cache-Control': 'public, max-age=86400' });
      ctx.type = extname(name);
      ctx.body = createReadStream(join(dirname(packageFile), name));
    });
  }
  return router;
}

type Content = string | Buffer;

/** Routes of texts, by path: each with its type and its content, or a function that returns the content. */
function pageRoutes(
  pages: Record<string, readonly [type: string, content: Content | (() => Content)]>,
): Router<RequestState> {
  const router = new Router<RequestState>();
  for (const [path, [type, content]] of Object.entries(pages)) {
    router.get(path, (ctx) => {
      ctx.set(HEADERS);
      ctx.type = type;
      ctx.body = typeof content === 'function' ? content() : content;
    });
  }
  return router;
}
