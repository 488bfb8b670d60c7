#!/usr/bin/env node
// `npm run pack` writes the three packages, as npm publishes them: postback, postback-receiver and postback-client. `npm pack`
// runs this file too, before and after it packs Postback (`prepack` and `postpack` in package.json).
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { prepare, root, run } from './prepare.mjs';
import { nameOf, RELEASE } from './release.mjs';
import { continueOnSupportedNode } from './supported-node.mjs';

const HELP = `npm run pack                  write the three packages to packages/
npm run pack -- <folder>      write them to a folder
npm pack                      write Postback alone, to this folder
`;

/** What the package holds besides the compiled code and the pages in docs/. */
const FILES = [
  ...['bin/compile.mjs', 'bin/postback.mjs', 'bin/prepare.mjs', 'bin/prune.mjs', 'bin/release.mjs'],
  'bin/supported-node.mjs',
  ...['console', 'crews', 'examples'],
  // The pictures of the guides that the product serves.
  ...['docs/demo.svg', 'docs/console', 'docs/performance', 'docs/pictures'],
  ...['README.md', 'LICENSE', 'CHANGELOG.md', 'SECURITY.md', 'THIRD-PARTY-NOTICES.md'],
];
const NOT_SHIPPED = /^(bench|test|release)$|^workflow-bundle|^\./;
/** What npm shows of a package. Dependencies are not among it: bin/release.mjs installs them. */
const SHOWN = ['name', 'version', 'description', 'license', 'type', 'engines', 'bin'];
const MANIFEST = join(root, 'package.json');

/** @returns patterns for the files of the package, as `files` in package.json has them */
function shippedFiles() {
  for (const file of FILES) {
    if (!existsSync(join(root, file))) throw new Error(`${file} is missing, and belongs into the package`);
  }
  const compiled = readdirSync(join(root, 'dist'), { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && !NOT_SHIPPED.test(entry.name))
    .map(({ name }) => `dist/${name}/**/*.js`);
  return [...FILES, 'docs/*.md', ...compiled.sort(), 'dist/release/*'];
}

/**
 * Writes what bin/release.mjs reads: the manifest with the dependencies, the lock file, and the name of this build. Then
 * replaces the manifest by that of the package, because npm packs what package.json says.
 */
function prepareRelease() {
  restoreManifest();
  const manifest = JSON.parse(readFileSync(MANIFEST, 'utf8'));
  const shown = Object.fromEntries(SHOWN.map((name) => [name, manifest[name]]));
  const packed = `${JSON.stringify({ ...shown, files: shippedFiles() }, null, 2)}\n`;
  mkdirSync(RELEASE, { recursive: true });
  cpSync(join(root, 'package-lock.json'), join(RELEASE, 'lock.json'));
  writeFileSync(join(RELEASE, 'release.json'), `${JSON.stringify({ build: nameOf(packed, ...codeOf()) })}\n`);
  cpSync(MANIFEST, join(RELEASE, 'package.json'));
  writeFileSync(MANIFEST, packed);
}

/** @returns the contents of everything that runs */
function codeOf() {
  return ['bin', 'console', 'crews', 'dist', 'docs', 'examples'].flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true })
      .filter((name) => /\.(m?js|css|html|svg|ya?ml|md)$/.test(name))
      .sort()
      .map((name) => readFileSync(join(root, folder, name))),
  );
}

/** Puts the manifest of the repository back, also after a run that was killed. */
function restoreManifest() {
  const saved = join(RELEASE, 'package.json');
  const isReplaced = !JSON.parse(readFileSync(MANIFEST, 'utf8')).scripts;
  if (isReplaced && existsSync(saved)) cpSync(saved, MANIFEST);
  rmSync(RELEASE, { recursive: true, force: true });
}

async function packAll(target) {
  mkdirSync(target, { recursive: true });
  for (const folder of [root, join(root, 'receiver'), join(root, 'client')]) {
    // Each is compiled by its `prepack`, also where the user's settings forbid scripts.
    const options = ['--ignore-scripts=false', '--silent', '--pack-destination', target];
    const code = await run('npm', ['pack', folder, ...options]);
    if (code !== 0) throw new Error(`npm pack ${folder} failed with code ${code}`);
  }
  console.log(`written to ${target}`);
}

await continueOnSupportedNode();
const [argument] = process.argv.slice(2);
try {
  if (argument === '--help') console.log(HELP);
  else if (argument === '--after') restoreManifest();
  else {
    await prepare({ tools: true });
    if (argument === '--before') prepareRelease();
    else await packAll(resolve(argument ?? join(root, 'packages'))).finally(restoreManifest);
  }
} catch (error) {
  console.error(error.message);
  process.exitCode = 1;
}
