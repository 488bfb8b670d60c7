import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import Router from '@koa/router';
import { globSync } from 'tinyglobby';
import type { RequestContext, RequestState } from './request-context.js';

/** The Temporal UI, where operators look at workflows. */
export interface TemporalUi {
  /** The address as a browser reaches it. */
  url: string;
  namespace: string;
}

const FOLDER = fileURLToPath(new URL('../../console', import.meta.url));
const DOMAIN = fileURLToPath(new URL('../domain', import.meta.url));

/** The compiled modules of `domain/` that the console imports: the tables of states, words, and how chunks are joined. */
const DOMAIN_MODULES = [
  'state-machine.js',
  'text-ranges.js',
  'content/joined-chunks.js',
  'crews/decisions.js',
  'key-states.js',
  'audit.js',
  ...['ai-jobs', 'connectors', 'content', 'crews', 'payments', 'webhooks'].map((service) => `${service}/states.js`),
];

/** The files of packages that the page names. No other file of a package is served. */
const VENDOR = /"\/console\/vendor\/([\w-]+)\/([^"]+)"/g;

/** The sample files, which the console puts into a database for who has no files at hand. */
const EXAMPLES = fileURLToPath(new URL('../../examples', import.meta.url));
const NOT_EXAMPLE = 'README.md';

const SERVED = '**/*.{css,html,js,mjs,svg}';

interface Asset {
  type: string;
  content: Buffer;
  etag: string;
}

/**
 * `/console`: a page for people, over the public API. Every file is read at the start and has a route of its own, so that
 * no path of a request ever reaches the file system.
 * @param temporalUi null when no link to it should be shown
 */
export function consoleRoutes(temporalUi: TemporalUi | null): Router<RequestState> {
  const router = new Router<RequestState>();
  const page = readFileSync(join(FOLDER, 'index.html'), 'utf8');
  const vendor = Array.from(page.matchAll(VENDOR), ([, name, path]) => [name!, path!] as const);
  const headers = headersFor(page);
  const examples = readdirSync(EXAMPLES).filter((name) => name !== NOT_EXAMPLE);
  const assets = new Map([
    ['/console', assetOf('.html', Buffer.from(page))],
    ...read('', FOLDER, globSync(SERVED, { cwd: FOLDER, ignore: ['index.html', 'reference/home.html'] })),
    ...read('domain/', DOMAIN, DOMAIN_MODULES),
    ...vendor.flatMap(([name, path]) => read(`vendor/${name}/`, packageFolder(name), [path])),
    ...read('examples/', EXAMPLES, examples),
  ]);
  const settings = JSON.stringify({ temporal_ui: temporalUi, examples, version: versionOf([...assets.values()]) });
  assets.set('/console/settings.json', assetOf('.json', Buffer.from(settings)));
  for (const [path, asset] of assets) router.get(path, (ctx) => send(ctx, asset, headers));
  return router;
}

function send(ctx: RequestContext, { type, content, etag }: Asset, headers: Record<string, string>): void {
  ctx.set(headers);
  ctx.type = type;
  ctx.etag = etag;
  ctx.status = 200;
  if (ctx.fresh) ctx.status = 304;
  else ctx.body = content;
}

/** The import map is the only inline script; the policy allows it by its hash. */
function headersFor(page: string): Record<string, string> {
  const map = /<script type="importmap">([\s\S]*?)<\/script>/.exec(page)?.[1] ?? '';
  const hash = createHash('sha256').update(map).digest('base64');
  const policy = [
    "default-src 'none'",
    `script-src 'self' 'sha256-${hash}'`,
    "style-src 'self'",
    "connect-src 'self'",
    "img-src 'self' data: blob:",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
  ];
  return {
    'Content-Security-Policy': policy.join('; '),
    'X-Content-Type-Options': 'nosniff',
    'Referrer-Policy': 'no-referrer',
    'Cross-Origin-Opener-Policy': 'same-origin',
    // Browsers ask each time, and get 304 while the file is the same.
    'Cache-Control': 'no-cache',
  };
}

/** Files of a folder, each with its path on this server. */
function read(prefix: string, folder: string, files: readonly string[]): [path: string, asset: Asset][] {
  return files.map((file) => {
    // `.mjs` has no media type of its own in every table.
    const type = extname(file) === '.mjs' ? '.js' : extname(file);
    return [`/console/${prefix}${file}`, assetOf(type, readFileSync(join(folder, file)))];
  });
}

/** The folder of an installed package, whose main file need not be there. */
function packageFolder(name: string): string {
  const places = createRequire(import.meta.url).resolve.paths(name) ?? [];
  const folder = places.map((place) => join(place, name)).find((path) => existsSync(path));
  if (!folder) throw new Error(`the package ${name} is not installed`);
  return folder;
}

function assetOf(type: string, content: Buffer): Asset {
  return { type, content, etag: etagOf(content) };
}

/** Changes with any file, so that a tab can tell that it is older than the server. */
function versionOf(assets: readonly Asset[]): string {
  return etagOf(Buffer.from(assets.map(({ etag }) => etag).join()));
}

function etagOf(content: Buffer): string {
  return createHash('sha256').update(content).digest('base64url').slice(0, 22);
}
