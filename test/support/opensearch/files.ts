import { createHash } from 'node:crypto';
import { access, mkdir, readdir, writeFile } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import {
  checkSha256,
  download,
  type Env,
  extractFromZip,
  type Log,
  placeInCache,
} from '../../../dev-stack/downloads.js';
import { CommandMissing, runCommand } from '../../../dev-stack/run-command.js';
import { NODE_CLASS, NODE_SOURCE } from './node-source.js';
import { PINNED_JARS, PINNED_PLUGIN } from './pinned-jars.js';

const CENTRAL = 'https://repo1.maven.org/maven2/';
const PLUGIN_JARS = [
  'opensearch-knn-2.19.1.0.jar',
  ...['commons-lang-2.6.jar', 'failureaccess-1.0.1.jar', 'guava-32.1.3-jre.jar', 'jna-platform-5.13.0.jar'],
  ...['oshi-core-6.4.13.jar', 'slf4j-api-1.7.36.jar'],
];
/** The oldest Java that OpenSearch 2.19 runs on. */
const MIN_JAVA = 17;
const PARALLEL = 8;
const MINUTE = 60_000;

export interface FetchOptions {
  readonly cacheDir: string;
  readonly env: Env;
  readonly log: Log;
}

/** How to start OpenSearch, or the reason why it cannot be started. */
export type OpenSearchFiles = { classPath: string } | { unavailable: string };

/**
 * Returns what Java needs to run OpenSearch with its k-NN plugin, from the cache or from Maven Central, checked by SHA-256
 * (60 MB). Never throws: tests and benchmarks that need it say that they are skipped.
 */
export async function obtainOpenSearch(options: FetchOptions): Promise<OpenSearchFiles> {
  try {
    await requireJava(options.env);
    const folder = join(options.cacheDir, 'opensearch-2.19.1');
    const jars = [...(await fetchJars(folder, options)), ...(await fetchPlugin(folder, options))];
    return { classPath: [await compileNode(folder, jars, options), ...jars].join(delimiter) };
  } catch (error) {
    return { unavailable: (error as Error).message };
  }
}

async function requireJava(env: Env): Promise<void> {
  const needed = `OpenSearch needs a Java development kit, version ${MIN_JAVA} or newer`;
  const version = await runCommand('javac', ['-version'], env, MINUTE).catch((error) => {
    throw error instanceof CommandMissing ? new Error(`${needed}; there is no javac on the PATH`) : error;
  });
  const [major] = /\d+/.exec(version) ?? ['0'];
  if (Number(major) < MIN_JAVA) throw new Error(`${needed}; this is ${version.trim()}`);
}

/** Fetches the jars that the cache lacks, some at a time. @returns the paths of all */
async function fetchJars(folder: string, options: FetchOptions): Promise<string[]> {
  await mkdir(folder, { recursive: true });
  const present = new Set(await readdir(folder));
  const files = PINNED_JARS.map((pin) => ({ ...addressOf(pin, 'jar'), path: join(folder, nameOf(pin, 'jar')) }));
  const missing = files.filter((_, at) => !present.has(nameOf(PINNED_JARS[at]!, 'jar')));
  if (missing.length > 0) options.log(`OpenSearch 2.19.1: ${missing.length} jars from Maven Central …`);
  const fetchNext = async (): Promise<void> => {
    for (let file = missing.shift(); file; file = missing.shift()) await fetchFile(file, options);
  };
  await Promise.all(Array.from({ length: PARALLEL }, fetchNext));
  return files.map(({ path }) => path);
}

async function fetchPlugin(folder: string, options: FetchOptions): Promise<string[]> {
  const zip = join(folder, nameOf(PINNED_PLUGIN, 'zip'));
  if (!(await exists(zip))) await fetchFile({ ...addressOf(PINNED_PLUGIN, 'zip'), path: zip }, options);
  for (const name of PLUGIN_JARS) {
    const jar = join(folder, name);
    if (await exists(jar)) continue;
    await placeInCache(jar, options.cacheDir, async (temporary) => {
      await extractFromZip(zip, name, join(temporary, name));
      return join(temporary, name);
    });
  }
  return PLUGIN_JARS.map((name) => join(folder, name));
}

async function fetchFile(
  { url, path, sha256 }: { url: string; path: string; sha256: string },
  { cacheDir, env }: FetchOptions,
): Promise<void> {
  await placeInCache(path, cacheDir, async (temporary) => {
    const file = join(temporary, 'file');
    await download(url, file, { env, log: () => undefined, label: url });
    await checkSha256(file, sha256);
    return file;
  });
}

/** Compiles the program once. It becomes a jar, because Java shares classes only of jars. */
async function compileNode(folder: string, jars: readonly string[], { cacheDir, env }: FetchOptions): Promise<string> {
  const hash = createHash('sha256').update(NODE_SOURCE).digest('hex').slice(0, 12);
  const jar = join(folder, `node-${hash}.jar`);
  if (await exists(jar)) return jar;
  await placeInCache(jar, cacheDir, async (temporary) => {
    const source = join(temporary, `${NODE_CLASS}.java`);
    const classes = join(temporary, 'classes');
    await writeFile(source, NODE_SOURCE);
    await runCommand('javac', ['-nowarn', '-cp', jars.join(delimiter), '-d', classes, source], env, 10 * MINUTE);
    await runCommand('jar', ['cf', join(temporary, 'node.jar'), '-C', classes, '.'], env, 10 * MINUTE);
    return join(temporary, 'node.jar');
  });
  return jar;
}

function addressOf(pin: string, extension: string): { url: string; sha256: string } {
  const [coordinates, sha256] = pin.split(' ') as [string, string];
  const [group, artifact, version] = coordinates.split(':') as [string, string, string];
  const folder = `${group.replaceAll('.', '/')}/${artifact}/${version}`;
  return { url: `${CENTRAL}${folder}/${artifact}-${version}.${extension}`, sha256 };
}

function nameOf(pin: string, extension: string): string {
  return addressOf(pin, extension).url.split('/').at(-1)!;
}

function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}
