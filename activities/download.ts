import { createWriteStream } from 'node:fs';
import { BlockedAddressError, type OutboundClient, type OutboundDownload, OutboundError } from '../domain/outbound.js';

/** A download into the local file at `path`. */
type DownloadRequest = Omit<OutboundDownload, 'to'> & { path: string; signal: AbortSignal };

/**
 * Downloads into a local file; only a 2xx response has content.
 * @param toError what to throw when the address is blocked, or when the exchange fails
 * @throws the signal's reason when it was aborted
 */
export async function download(
  outbound: Pick<OutboundClient, 'download'>,
  { path, ...request }: DownloadRequest,
  toError: (error: BlockedAddressError | OutboundError) => Error,
): Promise<{ status: number; headers: Record<string, string> }> {
  try {
    return await outbound.download({ ...request, to: createWriteStream(path) });
  } catch (error) {
    if (request.signal.aborted) throw request.signal.reason;
    if (error instanceof BlockedAddressError || error instanceof OutboundError) throw toError(error);
    throw error;
  }
}

export function isSuccess(status: number): boolean {
  return status >= 200 && status < 300;
}

/** Whether the same request may succeed later. */
export function isTransient(status: number): boolean {
  return status >= 500 || status === 429;
}
