import { createReadStream, createWriteStream } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { ProviderError } from '../../domain/errors.js';
import { type Extraction, ExtractionError } from '../../domain/extraction.js';
import { BlockedAddressError, type OutboundClient, OutboundError } from '../../domain/outbound.js';
import type { Scratch } from '../../storage/scratch.js';
import type { JobInputDependencies } from '../ai-jobs/job-input.js';
import { headOf } from '../local-file.js';
import { type CrewTool, ToolError } from './tool.js';

export interface FetchPageDependencies extends Pick<JobInputDependencies, 'extractor' | 'describeFile'> {
  outbound: OutboundClient;
  scratch: Scratch;
}

const MAX_BYTES = 5 * 1024 * 1024;
const TIMEOUT_MS = 30_000;

/** Fetches a page or a document through the guarded client, and gives its text. */
export function fetchPage(deps: FetchPageDependencies): CrewTool {
  return {
    arguments: z.object({ url: z.url().max(2048) }),

    async offer() {
      return {
        description: 'Fetches a web page or a document from a public https address and gives its text.',
        parameters: {
          type: 'object',
          properties: { url: { type: 'string', description: 'The whole address' } },
          required: ['url'],
          additionalProperties: false,
        },
      };
    },

    async run(_org: string, { url }: { url: string }, signal: AbortSignal) {
      return deps.scratch.use(async (folder) => {
        const path = join(folder, 'page');
        await download(deps.outbound, url, path, signal);
        return textOf(await read(deps, path, signal));
      });
    },
  };
}

async function download(outbound: OutboundClient, url: string, path: string, signal: AbortSignal): Promise<void> {
  const limits = { timeoutMs: TIMEOUT_MS, maxBytes: MAX_BYTES };
  const { status, headers } = await outbound
    .download({ url, ...limits, signal, to: createWriteStream(path) })
    .catch((error: unknown) => {
      if (signal.aborted) throw signal.reason;
      if (error instanceof BlockedAddressError) throw new ToolError(`This address is not fetched: ${error.message}`);
      if (!(error instanceof OutboundError)) throw error;
      if (error.code === 'ETOOLARGE') throw new ToolError(`The page is over ${MAX_BYTES} bytes.`);
      throw new ProviderError(`The page could not be fetched: ${error.message}.`, true);
    });
  if (status >= 200 && status < 300) return;
  // Not followed on its own: the new address is judged like any other when it is asked for.
  if (status >= 300 && status < 400 && headers.location) {
    throw new ToolError(`The page has moved to ${new URL(headers.location, url).href}`);
  }
  if (status >= 500 || status === 429) throw new ProviderError(`The page's server answered ${status}.`, true);
  throw new ToolError(`The page's server answered ${status}.`);
}

async function read(deps: FetchPageDependencies, path: string, signal: AbortSignal): Promise<Extraction> {
  try {
    const { kind } = await deps.describeFile(await headOf(path), { openStream: () => createReadStream(path) });
    if (kind === 'audio' || kind === 'unknown')
      throw new ToolError('No text can be read from what this address gives.');
    return await deps.extractor.extract({ path, kind }, signal);
  } catch (error) {
    if (error instanceof ExtractionError) throw new ToolError(error.message);
    throw error;
  }
}

function textOf({ title, sections }: Extraction): string {
  const parts = sections.map(({ headings, text }) => [...headings.slice(-1), text].join('\n'));
  return [...(title === null ? [] : [title]), ...parts].join('\n\n');
}
