#!/usr/bin/env node
// Asks the registry for known vulnerabilities of the packages that the product uses at run time. High and critical ones
// fail; a registry that cannot be asked is reported and fails nothing, so that `npm test` works offline.
import { execFile } from 'node:child_process';
import { root } from './prepare.mjs';

const FAILING = ['high', 'critical'];
const COMMAND = ['audit', '--omit=dev', '--json', '--fetch-retries=0', '--fetch-timeout=20000'];

const output = await new Promise((resolve) => {
  execFile('npm', COMMAND, { cwd: root, timeout: 60_000, maxBuffer: 64 * 1024 * 1024 }, (error, stdout, stderr) =>
    resolve(stdout || stderr || String(error)),
  );
});

const report = parse(output);
if (!report.vulnerabilities) {
  const reason = report.message ?? report.error?.summary ?? output.trim().split('\n')[0];
  console.error(`dependency audit skipped: the registry gave no answer (${reason || 'no reason'})`);
} else {
  const found = Object.values(report.vulnerabilities);
  for (const { name, severity, range } of found) console.error(`${severity}: ${name} ${range}`);
  const failing = found.filter(({ severity }) => FAILING.includes(severity));
  console.error(`dependency audit: ${found.length} vulnerable packages, ${failing.length} of them high or critical`);
  if (failing.length > 0) process.exitCode = 1;
}

function parse(text) {
  try {
    return JSON.parse(text);
  } catch {
    return {};
  }
}
