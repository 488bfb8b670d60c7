import { createHash } from 'node:crypto';
import { type HttpServer, startHttpServer } from './http-server.js';

export interface Page {
  body: string | Buffer;
  type?: string;
  status?: number;
  headers?: Record<string, string>;
}

export interface Site extends HttpServer {
  /** By path; other paths are 404. */
  pages: Map<string, Page>;
  /** `<status> <path>` of each request. */
  requests: string[];
  /** Awaited before each response. */
  hold?: ((path: string) => Promise<void>) | undefined;
}

/** A static site on loopback that supports conditional requests as web servers do. */
export async function startSite(pages: Record<string, string | Page> = {}): Promise<Site> {
  const server = await startHttpServer(async (request, response) => {
    const path = request.url ?? '/';
    await site.hold?.(path);
    const page = site.pages.get(path) ?? { body: 'nothing here', status: 404 };
    const etag = `"${createHash('sha1').update(page.body).digest('hex')}"`;
    const same = request.headers['if-none-match'] === etag;
    const status = page.status ?? (same ? 304 : 200);
    site.requests.push(`${status} ${path}`);
    response.writeHead(status, {
      'Content-Type': page.type ?? 'text/html; charset=utf-8',
      ...(status === 200 || status === 304 ? { ETag: etag } : {}),
      ...page.headers,
    });
    response.end(status === 304 ? undefined : page.body);
  });
  const site: Site = {
    ...server,
    pages: new Map(
      Object.entries(pages).map(([path, page]) => [path, typeof page === 'string' ? { body: page } : page]),
    ),
    requests: [],
  };
  return site;
}

/** A page with a title, a paragraph and links. */
export function html(title: string, text: string, links: string[] = []): string {
  const anchors = links.map((link) => `<a href="${link}">${link}</a>`).join(' ');
  return `<!doctype html><html><head><title>${title}</title></head><body><h1>${title}</h1><p>${text}</p>${anchors}</body></html>`;
}
