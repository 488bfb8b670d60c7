#!/usr/bin/env node
// `npm run client` generates the types of the TypeScript client from the API document: client/schema.d.ts. The generator needs
// TypeScript 5 beside the project's TypeScript 7, so it is fetched for this run only. The first line of the result has a hash
// of what the types depend on, so that a test can tell whether they are up to date.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
/** A field with a default can be left out of a request. */
const OPTIONS = ['--default-non-nullable=false'];
const GENERATOR = ['--package=openapi-typescript@7.13.0', '--package=typescript@5.9.3'];

/** Words about the API, and limits that types cannot express. Properties with these names have a schema, not a plain value. */
const UNTYPED =
  /^(description|summary|title|examples?|x-codeSamples|pattern|format|(min|max)(imum|Length|Items)|exclusive(Min|Max)imum|default)$/;

/** @returns SHA-256 over what the types of a document depend on, hex */
export function hashOfTypes(document) {
  const typed = JSON.stringify(document, (key, value) => {
    // Conditions, such as those of the available models, say nothing about types.
    if (key === 'if' || key === 'else') return undefined;
    return UNTYPED.test(key) && (typeof value !== 'object' || Array.isArray(value)) ? undefined : value;
  });
  return createHash('sha256').update(typed).digest('hex');
}

/**
 * The document as the types are generated from it. The client sends `API-Version` itself, error responses that are the same
 * have one name, files are marked, and routes under their deprecated names are left out.
 */
export function prepare(document) {
  const paths = Object.entries(document.paths).filter(([path]) => !/^\/tenants(\/|$)/.test(path));
  const responses = {};
  for (const operation of paths.flatMap(([, methods]) => Object.values(methods))) {
    operation.parameters = operation.parameters?.filter(({ name }) => name !== 'API-Version');
    for (const [status, response] of Object.entries(operation.responses)) {
      if (status.startsWith('2')) continue;
      const text = JSON.stringify(response);
      const name = `Error${status}_${createHash('sha256').update(text).digest('hex').slice(0, 8)}`;
      responses[name] = response;
      operation.responses[status] = { $ref: `#/components/responses/${name}` };
    }
  }
  document.paths = Object.fromEntries(paths);
  document.components.responses = responses;
  document.components.schemas.FileContent = { type: 'string' };
  return JSON.parse(JSON.stringify(document), (_key, value) => {
    return value?.format === 'binary' || value?.contentEncoding === 'binary'
      ? { $ref: '#/components/schemas/FileContent' }
      : value;
  });
}

/** The API document of the compiled code. Listing the routes needs none of their dependencies. */
async function currentDocument() {
  const load = (path) => import(pathToFileURL(join(root, 'dist/api', path)).href);
  const [{ createServices }, { createHttpMetrics }, { openApiDocument }] = await Promise.all(
    ['app.js', 'metrics.js', 'openapi.js'].map(load),
  );
  // Routes that take an `Idempotency-Key` are declared with the store of these keys.
  const [health, ...services] = createServices({ rateLimits: {}, idempotencyKeys: {} }, createHttpMetrics());
  // In the order in which the product lists them.
  return JSON.parse(JSON.stringify(openApiDocument([...services, health])));
}

async function generate() {
  const document = await currentDocument();
  const hash = hashOfTypes(document);
  const folder = mkdtempSync(join(tmpdir(), 'postback-client-'));
  try {
    const [source, target] = ['openapi.json', 'schema.d.ts'].map((name) => join(folder, name));
    writeFileSync(source, JSON.stringify(prepare(document)));
    const npm = process.platform === 'win32' ? 'npm.cmd' : 'npm';
    const run = ['exec', '--yes', ...GENERATOR, '--', 'openapi-typescript', source, '--output', target, ...OPTIONS];
    execFileSync(npm, run, { cwd: folder, stdio: ['ignore', 'ignore', 'inherit'] });
    const types = readFileSync(target, 'utf8').replace(/^( +FileContent: )string;$/m, '$1Blob;');
    writeFileSync(join(root, 'client/schema.d.ts'), `// types ${hash}\n${types}`);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await generate();
