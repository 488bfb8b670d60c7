import { join } from 'node:path';
import { z } from 'zod';
import { ProviderError } from '../../domain/errors.js';
import { type Extraction, ExtractionError } from '../../domain/extraction.js';
import { BlockedAddressError, type OutboundClient, type OutboundError } from '../../domain/outbound.js';
import type { Scratch } from '../../storage/scratch.js';
import { download, isSuccess, isTransient } from '../download.js';
import { type DescribeFile, detectLocalFile, type TextExtractor } from '../local-file.js';
import { type CrewTool, type ToolAccess, ToolError } from './tool.js';

export interface FetchPageDependencies {
  outbound: Pick<OutboundClient, 'download'>;
  scratch: Scratch;
  extractor: TextExtractor;
  describeFile: DescribeFile;
}

const MAX_BYTES = 5 * 1024 * 1024;
const TIMEOUT_MS = 30_000;

/** Fetches a page or a document through the guarded HTTP client, and returns its text. */
export function fetchPage(deps: FetchPageDependencies): CrewTool {
  return {
    arguments: z.object({ url: z.url().max(2048) }),

    async offer() {
      return {
        description: 'Fetches a web page or a document from a public https address and returns its text.',
        parameters: {
          type: 'object',
          properties: { url: { type: 'string', description: 'The complete URL' } },
          required: ['url'],
          additionalProperties: false,
        },
      };
    },

    async run({ org }: ToolAccess, { url }: { url: string }, signal: AbortSignal) {
      return deps.scratch.use(async (folder) => {
        const path = join(folder, 'page');
        await downloadPage(deps.outbound, url, path, signal);
        return textOf(await extract(deps, { path, org }, signal));
      });
    },
  };
}

async function downloadPage(
  outbound: FetchPageDependencies['outbound'],
  url: string,
  path: string,
  signal: AbortSignal,
): Promise<void> {
  const request = { url, path, timeoutMs: TIMEOUT_MS, maxBytes: MAX_BYTES, signal };
  const { status, headers } = await download(outbound, request, describeDownloadError);
  if (isSuccess(status)) return;
  // Redirects are not followed: the model requests the new address, which is checked like any other.
  if (status >= 300 && status < 400 && headers.location && URL.canParse(headers.location, url)) {
    throw new ToolError(`The page has moved to ${new URL(headers.location, url).href}`);
  }
  const message = `The page's server responded with ${status}.`;
  throw isTransient(status) ? new ProviderError(message, true) : new ToolError(message);
}

function describeDownloadError(error: BlockedAddressError | OutboundError): Error {
  if (error instanceof BlockedAddressError) return new ToolError(`This address is not fetched: ${error.message}`);
  if (error.code === 'ETOOLARGE') return new ToolError(`The page must not exceed ${MAX_BYTES} bytes.`);
  return new ProviderError(`The page could not be fetched: ${error.message}.`, true);
}

/** @param source with the organisation, so that those of others do not wait behind all of its documents */
async function extract(
  deps: FetchPageDependencies,
  { path, org }: { path: string; org: string },
  signal: AbortSignal,
): Promise<Extraction> {
  try {
    const { kind } = await detectLocalFile(deps.describeFile, path);
    if (kind === 'audio' || kind === 'unknown') throw new ToolError('No text can be read from a file of this kind.');
    return await deps.extractor.extract({ path, kind, org }, signal);
  } catch (error) {
    throw error instanceof ExtractionError ? new ToolError(error.message) : error;
  }
}

function textOf({ title, sections }: Extraction): string {
  const parts = sections.map(({ headings, text }) => [...headings.slice(-1), text].join('\n'));
  return [...(title === null ? [] : [title]), ...parts].join('\n\n');
}
