#!/usr/bin/env node
// Compiles the TypeScript sources to dist/: Node.js removes the types. It needs no package, so a start compiles while npm
// installs, and installs neither a compiler nor types; `npm test` checks the types. Plain JavaScript, because it runs before
// anything is compiled.
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
// The whole module, because an old Node.js that continues on another one has no such function.
import module from 'node:module';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { continueOnSupportedNode } from './supported-node.mjs';

export const root = dirname(dirname(fileURLToPath(import.meta.url)));
const DIST = join(root, 'dist');
const NOT_SOURCE = new Set(['node_modules', 'dist']);

/** @returns whether dist/ has the code of all sources, and no other */
export function isCompiled() {
  return changedSources().length === 0 && orphans().length === 0;
}

/** Compiles the sources that have changed. @throws Error that names a file with syntax that is more than types */
export function compile() {
  const changed = changedSources();
  quietly(() => {
    for (const source of changed) compileFile(source);
  });
  for (const path of orphans()) rmSync(path);
}

function compileFile(source) {
  const target = targetOf(source);
  mkdirSync(dirname(target), { recursive: true });
  let code;
  try {
    code = module.stripTypeScriptTypes(readFileSync(source, 'utf8'));
  } catch (error) {
    throw new Error(`${relative(root, source)}: ${error.message}`);
  }
  writeFileSync(target, code);
  // The mark of an output that belongs to this source: a changed or an older source has another time.
  const { mtime } = statSync(source);
  utimesSync(target, mtime, mtime);
}

/** Node.js warns that the function may change. Lines and columns stay, and the tests run what it returns. */
function quietly(work) {
  const { emitWarning } = process;
  process.emitWarning = () => undefined;
  try {
    work();
  } finally {
    process.emitWarning = emitWarning;
  }
}

function changedSources() {
  return sources().filter((source) => {
    const target = targetOf(source);
    // A copy keeps the time in milliseconds.
    return !existsSync(target) || Math.round(statSync(target).mtimeMs) !== Math.round(statSync(source).mtimeMs);
  });
}

/** Outputs whose source is gone: a deleted test would still run. The bundle of workflows is no output of one source. */
function orphans() {
  if (!existsSync(DIST)) return [];
  const wanted = new Set(sources().map(targetOf));
  return readdirSync(DIST, { recursive: true })
    .filter((entry) => /\.js(\.map)?$/.test(entry) && !/^(\.|workflow-bundle-)/.test(entry))
    .map((entry) => join(DIST, entry))
    .filter((path) => !wanted.has(path));
}

function targetOf(source) {
  return join(DIST, relative(root, source)).replace(/\.ts$/, '.js');
}

function sources() {
  const found = [];
  const visit = (folder) => {
    for (const entry of readdirSync(folder, { withFileTypes: true })) {
      if (entry.name.startsWith('.') || NOT_SOURCE.has(entry.name)) continue;
      const path = join(folder, entry.name);
      if (entry.isDirectory()) visit(path);
      else if (entry.name.endsWith('.ts') && !entry.name.endsWith('.d.ts')) found.push(path);
    }
  };
  visit(root);
  return found;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  await continueOnSupportedNode();
  compile();
}
