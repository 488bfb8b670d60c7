import { createRequire } from 'node:module';
import { finished } from 'node:stream/promises';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { createMcpServer } from '../../mcp/server.js';
import { findServer, type ServerOptions } from './server.js';

const { version } = createRequire(import.meta.url)('../../../package.json') as { version: string };

/** `postback mcp`: an assistant starts it and talks to it over standard input and output, until it closes them. */
export async function serveMcp(options: Pick<ServerOptions, 'profile'>): Promise<void> {
  const postback = findServer(options).client();
  serveStdio(() => createMcpServer(postback, version), { onerror: (error) => console.error(error.message) });
  const ends = [finished(process.stdin, { writable: false }), finished(process.stdout, { readable: false })];
  // An assistant that is gone is the ordinary end.
  await Promise.race(ends).catch(() => undefined);
}
