#!/usr/bin/env node
// `npm run notices` writes THIRD-PARTY-NOTICES.md: what Postback installs and downloads, with licences and copyrights.
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const TARGET = join(root, 'THIRD-PARTY-NOTICES.md');

/** Binaries of other platforms, whose licence is not in the lock file, with the package that they belong to. */
const PLATFORM_BINARIES = [
  ['@biomejs/cli-', '@biomejs/biome'],
  ['@lancedb/lancedb-', '@lancedb/lancedb'],
  ['@swc/core-', '@swc/core'],
  ['@unrs/resolver-binding-', 'unrs-resolver'],
];

/** Packages whose manifest has no SPDX identifier, with the licence of their text. An upgrade needs another look. */
const READ_BY_A_PERSON = {
  'busboy@0.3.1': 'MIT',
  'dicer@0.3.0': 'MIT',
  'humanize-number@0.0.2': 'MIT',
  'json-bignum@0.0.3': 'MIT',
  'only@0.0.2': 'MIT',
  'streamsearch@0.1.2': 'MIT',
  'unionfs@4.6.0': 'Unlicense',
};

/** Programs and data that are not npm packages: `dev-stack/pinned-downloads.ts`. */
const DOWNLOADED = [
  ['Temporal CLI and server', 'MIT', 'https://github.com/temporalio/cli'],
  ['MongoDB Community Server', 'SSPL-1.0', 'https://www.mongodb.com/try/download/community'],
  ['the data of OCR languages other than English', 'MIT', 'https://www.npmjs.com/package/@tesseract.js-data/deu'],
  ['PP-OCRv6 small, the second recogniser of OCR', 'Apache-2.0', 'https://pypi.org/project/rapidocr/'],
  ['bge-small-en-v1.5, the embedding model', 'MIT', 'https://huggingface.co/BAAI/bge-small-en-v1.5'],
];

const COPYRIGHT = /^[\s*/#]*((?:portions )?copyright\s+(?:\(c\)|©|\d{4}).*|©.*|\(c\)\s+.*)$/i;
/** Lines of licence texts that speak about copyright, but name no holder. */
const NO_HOLDER = /\[yyyy\]|<year>|\{yyyy\}|copyright (notice|holder|owner|law|license|statement)/i;

/**
 * The licence of a package of the lock file, an SPDX expression; `unknown` when nobody has read it.
 * @param packages the lock file's `packages`
 * @param path its key in them, such as `node_modules/koa`
 */
export function licenseOf(packages, path) {
  const name = nameOf(path);
  const { license = READ_BY_A_PERSON[`${name}@${packages[path].version}`] } = packages[path];
  if (license) return license;
  const owner = PLATFORM_BINARIES.find(([prefix]) => name.startsWith(prefix))?.[1];
  return packages[`node_modules/${owner}`]?.license ?? 'unknown';
}

/** The notices of the packages that the lock file and `node_modules` have now. */
export function notices() {
  const { packages } = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8'));
  const rows = new Map();
  for (const [path, { version, dev, devOptional, link, optional, name }] of Object.entries(packages)) {
    if (path === '' || dev || devOptional || link) continue;
    const row = [
      name ?? nameOf(path),
      version,
      licenseOf(packages, path),
      optional ? '' : copyrightOf(join(root, path)),
    ];
    rows.set(`${row[0]}@${version}`, row);
  }
  const sorted = [...rows.values()].sort(([a, v], [b, w]) => compare(a, b) || compare(v, w));
  return `# Third-party notices

Postback is Apache-2.0. It uses the work of others. Each npm package below is installed with its licence text, in its folder
in \`node_modules\`. \`npm run notices\` writes this file from \`package-lock.json\`.

## Downloaded when they are needed

\`npm start\`, work that needs them or a command downloads these, unless you name servers and a model of your own.

${table(['', 'licence', 'source'], DOWNLOADED)}

## npm packages

A copyright is shown where the licence text of a package names a holder.

${table(['package', 'version', 'licence', 'copyright'], sorted)}
`;
}

function nameOf(path) {
  return path.split('node_modules/').at(-1);
}

/** The first line of a package's licence text that names a holder. */
function copyrightOf(folder) {
  if (!existsSync(folder)) return '';
  const files = readdirSync(folder).filter((file) => /^(licen[cs]e|copying|notice)/i.test(file));
  for (const file of files.sort()) {
    const lines = readFileSync(join(folder, file), 'utf8').split('\n').slice(0, 40);
    const line = lines.find((text) => COPYRIGHT.test(text) && !NO_HOLDER.test(text));
    if (line) return COPYRIGHT.exec(line)[1].replace(/\s+/g, ' ').trim();
  }
  return '';
}

function table(head, rows) {
  const line = (cells) => `| ${cells.map((cell) => cell.replace(/[|<>]/g, (sign) => `\\${sign}`)).join(' | ')} |`;
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n');
}

function compare(a, b) {
  return a < b ? -1 : a > b ? 1 : 0;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  writeFileSync(TARGET, notices());
  console.log(`written to ${TARGET}`);
}
