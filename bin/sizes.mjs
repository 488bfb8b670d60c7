#!/usr/bin/env node
// `npm run sizes` prints what the installed packages take on the disk: the figures of docs/dependencies.md. It installs them
// into a temporary folder, because those of this folder have lost the files that bin/prune.mjs removes.
import { cpSync, existsSync, lstatSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { npmCi, root } from './prepare.mjs';
import { findUnused } from './prune.mjs';
import { continueOnSupportedNode } from './supported-node.mjs';

const MIB = 1024 * 1024;

/**
 * @param folder with a lock file and its packages
 * @returns MiB as disks count, in blocks: packages of the product without and with the files that nothing loads, and the
 *   development tools without them; and the number of the product's packages
 */
export function sizesIn(folder) {
  const { packages } = JSON.parse(readFileSync(join(folder, 'package-lock.json'), 'utf8'));
  const unused = new Set(findUnused(join(folder, 'node_modules')));
  const sizeOf = (path, left) => {
    if (left.has(path)) return 0;
    const entry = lstatSync(path);
    if (!entry.isDirectory()) return entry.blocks * 512;
    // A package within a package has an entry of its own in the lock file.
    const names = readdirSync(path).filter((name) => name !== 'node_modules');
    return names.reduce((sum, name) => sum + sizeOf(join(path, name), left), entry.blocks * 512);
  };
  const installed = Object.entries(packages).filter(([path]) => path !== '' && existsSync(join(folder, path)));
  const isTool = ([, { dev, devOptional }]) => dev || devOptional;
  const sum = (entries, left) => entries.reduce((total, [path]) => total + sizeOf(join(folder, path), left), 0) / MIB;
  const product = installed.filter((entry) => !isTool(entry));
  return {
    packages: product.length,
    product: sum(product, unused),
    unpruned: sum(product, new Set()),
    tools: sum(installed.filter(isTool), unused),
  };
}

async function print() {
  await continueOnSupportedNode();
  const folder = mkdtempSync(join(tmpdir(), 'postback-sizes-'));
  try {
    for (const name of ['package.json', 'package-lock.json']) cpSync(join(root, name), join(folder, name));
    await npmCi(folder, '--include=dev');
    const { packages, product, unpruned, tools } = sizesIn(folder);
    console.log(
      `product: ${product.toFixed(0)} MiB in ${packages} packages, ${unpruned.toFixed(0)} MiB before pruning`,
    );
    console.log(`development tools: ${tools.toFixed(0)} MiB`);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await print();
