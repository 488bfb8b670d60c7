import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, test } from '@jest/globals';

const pages = readdirSync('docs', { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.md'))
  .map((name) => join('docs', name));
const guides = ['README.md', 'CONTRIBUTING.md', 'SECURITY.md', 'bench/README.md', ...pages];

/** The anchors of a page's headings, as the sites that show Markdown make them. */
const anchorsOf = (text: string) =>
  [...text.matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replace(/[^\p{L}\p{N}_\- ]/gu, '')
      .replaceAll(' ', '-'),
  );

describe.each(guides)('%s', (guide) => {
  const text = readFileSync(guide, 'utf8');

  test('links to files and headings that exist', () => {
    const broken = [...text.matchAll(/\]\(([^)\s]+)\)/g)].flatMap(([, link = '']) => {
      const [path = '', anchor] = link.split('#');
      if (/^https?:/.test(link)) return [];
      const file = path === '' ? guide : join(dirname(guide), path);
      if (!existsSync(file)) return [link];
      return anchor && !anchorsOf(readFileSync(file, 'utf8')).includes(anchor) ? [link] : [];
    });
    expect(broken).toEqual([]);
  });

  test('names source files that exist', () => {
    const named = [...text.matchAll(/`((?:[a-z][\w-]*\/)+[\w.-]+\.(?:ts|mjs|js))`/g)].map(([, path = '']) => path);
    const missing = named.filter((path) => !/^dist\/|\/things\//.test(path) && !existsSync(path));
    expect(missing.filter((path) => !existsSync(join('test', path)))).toEqual([]);
  });
});
