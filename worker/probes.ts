import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { Registry } from 'prom-client';
import type { Readiness } from '../domain/readiness.js';

/**
 * Serves `/metrics` for Prometheus, and `/readyz`, which says what is missing. Any other path responds as long as the event
 * loop runs, for container health checks.
 * @returns undefined without a port
 */
export function serveProbes(
  port: number | undefined,
  { metrics, readiness }: { metrics: () => Promise<string>; readiness: () => Promise<Readiness> },
): Server | undefined {
  if (port === undefined) return undefined;
  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (request.url === '/metrics') {
      response.setHeader('Content-Type', Registry.PROMETHEUS_CONTENT_TYPE).end(await metrics());
      return;
    }
    response.setHeader('Content-Type', 'application/json');
    if (request.url !== '/readyz') {
      response.end('{"status":"ok"}');
      return;
    }
    const details = await readiness();
    const ready = details.temporal && details.mongodb;
    response.statusCode = ready ? 200 : 503;
    response.end(JSON.stringify({ status: ready ? 'ready' : 'unavailable', ...details }));
  }
  return createServer((request, response) => {
    // An error that nobody catches would end the worker.
    serve(request, response).catch(() => response.writeHead(500).end());
  }).listen(port);
}
