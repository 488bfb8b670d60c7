import { bodyOf } from '../../client/index.js';
import { byteSize, fields, print, table } from './output.js';
import { findServer, type ServerOptions } from './server.js';

/** `postback usage`: prints what the organisation of the key uses, and its limits. */
export async function showUsage(options: ServerOptions): Promise<void> {
  const { data } = await bodyOf(findServer(options).client().GET('/usage'));
  const { organisation, ingest: _, ...quotas } = data;
  const rows = Object.entries(quotas).map(([name, { used, limit }]) => {
    const show = name === 'stored_bytes' ? byteSize : String;
    return { quota: name, used: show(used), limit: limit === null ? 'unlimited' : show(limit) };
  });
  print(options, data, () => `${fields({ organisation })}\n\n${table(rows)}`);
}
