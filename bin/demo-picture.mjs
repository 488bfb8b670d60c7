#!/usr/bin/env node
// `node bin/demo-picture.mjs` runs the demo and draws what it prints: docs/demo.svg, the picture in README.md.
import { execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from './prepare.mjs';

const TARGET = join(root, 'docs', 'demo.svg');
const [PADDING, TOP, LINE_HEIGHT, CHARACTER_WIDTH] = [20, 56, 19, 8.43];
const TEXT = '#c9d1d9';
/** Attributes for the codes of Node's `styleText`; the others end a style. */
const STYLES = {
  1: 'fill="#f0f6fc" font-weight="bold"',
  2: 'fill="#8b949e"',
  4: 'fill="#c9d1d9" text-decoration="underline"',
  31: 'fill="#ff7b72"',
  32: 'fill="#3fb950"',
  35: 'fill="#d2a8ff"',
  36: 'fill="#79c0ff"',
};

const output = await new Promise((resolve, reject) => {
  const env = { ...process.env, FORCE_COLOR: '1' };
  execFile(process.execPath, [join(root, 'bin', 'postback.mjs'), 'demo'], { env }, (error, stdout) =>
    error ? reject(error) : resolve(stdout),
  ).stdin.end();
});

const lines = output.trimEnd().split('\n');
const plain = lines.map((line) => line.replace(/\x1b\[\d+m/g, ''));
const width = Math.ceil(PADDING * 2 + CHARACTER_WIDTH * Math.max(...plain.map((line) => line.length)));
const height = TOP + LINE_HEIGHT * lines.length + PADDING / 2;
const texts = lines.map((line, index) =>
  plain[index] === ''
    ? ''
    : `<text x="${PADDING}" y="${TOP + index * LINE_HEIGHT}" xml:space="preserve">${spans(line)}</text>`,
);
writeFileSync(
  TARGET,
  `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" font-family="ui-monospace,SFMono-Regular,Menlo,Consolas,monospace" font-size="14"><title>npm run demo</title>
<rect width="100%" height="100%" rx="8" fill="#0d1117"/><circle cx="20" cy="20" r="6" fill="#ff5f56"/><circle cx="40" cy="20" r="6" fill="#ffbd2e"/><circle cx="60" cy="20" r="6" fill="#27c93f"/>
${texts.filter(Boolean).join('\n')}
</svg>
`,
);
console.log(`written to ${TARGET}`);

/** The parts of a line, each with its style. */
function spans(line) {
  let style = `fill="${TEXT}"`;
  return line
    .split(/(\x1b\[\d+m)/)
    .map((part) => {
      const code = /^\x1b\[(\d+)m$/.exec(part)?.[1];
      if (code === undefined) return part && `<tspan ${style}>${escapeText(part)}</tspan>`;
      style = STYLES[code] ?? `fill="${TEXT}"`;
      return '';
    })
    .join('');
}

function escapeText(text) {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
}
