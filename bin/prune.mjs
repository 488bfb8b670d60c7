#!/usr/bin/env node
// Removes files of installed packages that nothing here loads: binaries of other platforms, builds for browsers and source
// maps. Packages ship them together, and npm cannot leave them out. Plain JavaScript without dependencies, because image
// builds run it before anything is compiled.
import { existsSync, readdirSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ARCHITECTURE = { x64: 'x86_64', arm64: 'aarch64' }[process.arch];
/** The native packages of @napi-rs have these names. */
const NATIVE = `${process.platform}-${process.arch}${process.platform === 'linux' ? '-gnu' : ''}`;
const SYSTEM = { linux: 'linux', darwin: 'apple', win32: 'windows' }[process.platform];

/** Packages with three builds, of which Node loads `build/src`. */
const OPEN_TELEMETRY = [
  ...['api', 'api-logs', 'context-async-hooks', 'core', 'exporter-trace-otlp-http', 'otlp-exporter-base'],
  ...['otlp-transformer', 'resources', 'sdk-logs', 'sdk-metrics', 'sdk-trace-base', 'semantic-conventions'],
];

/** Per package: a folder, and which of its entries are not needed on this machine. */
const RULES = [
  ['onnxruntime-node', 'bin/napi-v6', (name) => name !== process.platform],
  ['onnxruntime-node', `bin/napi-v6/${process.platform}`, (name) => name !== process.arch],
  ['@temporalio/core-bridge', 'releases', (name) => !(name.startsWith(`${ARCHITECTURE}-`) && name.includes(SYSTEM))],
  // The sources of the core in Rust.
  ['@temporalio/core-bridge', '.', (name) => name === 'sdk-core'],
  ['rxjs', 'dist', (name) => ['bundles', 'esm', 'esm5'].includes(name)],
  // The legacy build is the one for Node.
  ['pdfjs-dist', '.', (name) => ['build', 'web', 'image_decoders'].includes(name)],
  ['pdfjs-dist', 'legacy', (name) => ['web', 'image_decoders'].includes(name)],
  ['pdfjs-dist', 'legacy/build', (name) => /\.(map|min\.mjs)$|sandbox/.test(name)],
  // Node loads the `.js` files with their `.wasm`, and tesseract.js 7 always those of both engines.
  ['tesseract.js-core', '.', (name) => /\.wasm\.js$|-lstm\.(wasm|js)$/.test(name)],
  // The data of an older engine.
  ['@tesseract.js-data/eng', '.', (name) => name === '4.0.0'],
  ['swagger-ui-dist', '.', (name) => /\.map$|^swagger-ui-es-bundle/.test(name)],
  ['officeparser', 'dist', (name) => name.includes('.browser.')],
  // pdfjs draws with it, and nothing here draws: `providers/extraction/formats/no-drawing.ts`.
  [`@napi-rs/canvas-${NATIVE}`, '.', (name) => name.endsWith('.node')],
  ['@e965/xlsx', '.', (name) => ['bin', 'xlsx.js', 'xlsxworker.js', 'CHANGELOG.md'].includes(name)],
  ['@e965/xlsx', 'dist', (name) => !/^(cpexcel\.(full\.mjs|d\.ts)|LICENSE)$/.test(name)],
  ['@hyzyla/pdfium', 'dist', (name) => /base64.*\.js$/.test(name)],
  // Everything here is an ES module, and runs on Node.
  ['@modelcontextprotocol/client', 'dist', (name) => /\.(cjs|d\.cts)$|^shims(Browser|Workerd)/.test(name)],
  ['@modelcontextprotocol/server', 'dist', (name) => /\.(cjs|d\.cts)$|^shims(Browser|Workerd)/.test(name)],
  ['@modelcontextprotocol/core', 'dist', (name) => /\.(cjs|d\.cts)$/.test(name)],
  ...OPEN_TELEMETRY.map((name) => [`@opentelemetry/${name}`, 'build', (entry) => entry !== 'src']),
  // For the runtime Bare.
  ...['bare-buffer', 'bare-fs', 'bare-path', 'bare-url'].map((name) => [
    name,
    'prebuilds',
    (platform) => platform !== `${process.platform}-${process.arch}`,
  ]),
];

/** Packages with large source maps. Those of packages in the workflow bundle stay: they are read when it is made. */
const WITHOUT_MAPS = [
  'apache-arrow',
  'read-excel-file',
  'rxjs',
  'bson',
  'mongodb',
  'protobufjs',
  '@jsonjoy.com/json-pack',
  '@modelcontextprotocol/client',
  '@modelcontextprotocol/core',
  '@modelcontextprotocol/server',
  ...OPEN_TELEMETRY.map((name) => `@opentelemetry/${name}`),
];

/** @param modules a folder `node_modules`. @returns the paths of files and folders that nothing here loads */
export function findUnused(modules) {
  const unused = RULES.flatMap(([name, folder, isUnused]) => {
    const path = join(modules, name, folder);
    if (!existsSync(path)) return [];
    const entries = readdirSync(path);
    const found = entries.filter(isUnused);
    // An unknown platform, or a package that has changed: better too many files than too few.
    return found.length === entries.length ? [] : found.map((entry) => join(path, entry));
  });
  const maps = WITHOUT_MAPS.map((name) => join(modules, name)).flatMap((path) =>
    existsSync(path)
      ? readdirSync(path, { recursive: true })
          .filter(isMap)
          .map((entry) => join(path, entry))
      : [],
  );
  return [...unused, ...maps];
}

/** Removes what nothing here loads. @returns the paths */
export function prune(modules) {
  const unused = findUnused(modules);
  for (const path of unused) rmSync(path, { recursive: true, force: true });
  return unused;
}

function isMap(path) {
  return path.endsWith('.map');
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const removed = prune(join(dirname(dirname(fileURLToPath(import.meta.url))), 'node_modules'));
  console.log(`removed ${removed.length} unused files and folders of packages`);
}
