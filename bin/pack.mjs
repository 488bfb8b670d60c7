#!/usr/bin/env node
// `npm run pack` writes the three packages, as npm publishes them: postback, postback-receiver and postback-client.
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { build, checkNode, install, root, run } from './prepare.mjs';
import { nameOf } from './release.mjs';

const HELP = `npm run pack                  write the packages to packages/
npm run pack -- <folder>      write them to a folder
`;

/** What the package holds besides the compiled code. */
const FILES = [
  ...['bin/postback.mjs', 'bin/prepare.mjs', 'bin/prune.mjs', 'bin/release.mjs'],
  ...['console', 'crews', 'examples', 'docs/demo.svg'],
  ...['README.md', 'LICENSE', 'CHANGELOG.md', 'SECURITY.md', 'THIRD-PARTY-NOTICES.md'],
];
/** Tests stay here, except for the files that benchmarks make. */
const NOT_SHIPPED = /^test\/(?!fixtures\/(lettering|made-files|scanned-files)\.js$)|^workflow-bundle|(?<!\.js)$/;
/** What npm shows of a package. Dependencies are not among it: bin/release.mjs installs them. */
const SHOWN = ['name', 'version', 'description', 'license', 'type', 'engines', 'bin'];

/** Writes the contents of the package `postback` to a folder. */
function stage(folder) {
  for (const file of FILES) copy(file, folder);
  for (const file of readdirSync(join(root, 'docs')).filter((name) => name.endsWith('.md')))
    copy(`docs/${file}`, folder);
  for (const file of readdirSync(join(root, 'dist'), { recursive: true })) {
    if (!NOT_SHIPPED.test(file.replaceAll('\\', '/'))) copy(`dist/${file}`, folder);
  }
  copy('package.json', folder, 'packages/package.json');
  copy('package-lock.json', folder, 'packages/lock.json');
  const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  const shown = Object.fromEntries(SHOWN.map((name) => [name, manifest[name]]));
  writeFileSync(join(folder, 'package.json'), `${JSON.stringify(shown, null, 2)}\n`);
  const contents = readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath ?? entry.path, entry.name))
    .sort();
  const name = nameOf(...contents.map((file) => readFileSync(file)));
  writeFileSync(join(folder, 'release.json'), `${JSON.stringify({ build: name })}\n`);
}

function copy(file, folder, name = file) {
  const source = join(root, file);
  if (!existsSync(source)) throw new Error(`${file} is missing, and belongs into the package`);
  mkdirSync(dirname(join(folder, name)), { recursive: true });
  cpSync(source, join(folder, name), { recursive: true });
}

async function pack(target) {
  mkdirSync(target, { recursive: true });
  const staged = mkdtempSync(join(tmpdir(), 'postback-pack-'));
  try {
    stage(staged);
    for (const folder of [staged, join(root, 'receiver'), join(root, 'client')]) {
      // The libraries are compiled by their `prepack`.
      const options = ['--ignore-scripts=false', '--silent', '--pack-destination', target];
      const code = await run('npm', ['pack', folder, ...options]);
      if (code !== 0) throw new Error(`npm pack ${folder} failed with code ${code}`);
    }
  } finally {
    rmSync(staged, { recursive: true, force: true });
  }
  console.log(`written to ${target}`);
}

checkNode();
const [argument] = process.argv.slice(2);
if (argument === '--help') {
  console.log(HELP);
} else {
  try {
    await install();
    await build();
    await pack(resolve(argument ?? join(root, 'packages')));
  } catch (error) {
    console.error(error.message);
    process.exitCode = 1;
  }
}
