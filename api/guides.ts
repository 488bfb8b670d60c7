import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import MarkdownIt from 'markdown-it';

const FOLDER = fileURLToPath(new URL('../../docs', import.meta.url));
const PICTURES = ['.png', '.svg'];

/** The guides, by what a reader looks for. The file of each is `docs/<name>.md`. */
const GROUPS: Record<string, Record<string, string>> = {
  Start: { 'quick-start': 'Quick start' },
  'Content indexing': {
    items: 'Databases and items',
    queries: 'Queries',
    extraction: 'What is read from files',
    connectors: 'Connectors',
  },
  'AI jobs': { 'ai-jobs': 'AI jobs', 'ai-features': 'Features' },
  Crews: { crews: 'Crews' },
  'Payment authentication': { payments: 'Payment authentication' },
  Callbacks: { receivers: 'Receivers', events: 'Events as they happen' },
  Reference: { keys: 'Keys and the audit log', errors: 'Errors', limits: 'Limits', settings: 'Settings' },
  Tools: { cli: 'Command line', console: 'Console', mcp: 'Assistants (MCP)' },
  Operators: {
    production: 'Going to production',
    security: 'Security',
    operators: 'Temporal UI and rollouts',
    monitoring: 'Monitoring',
    scaling: 'Scaling',
    kubernetes: 'Kubernetes',
    performance: 'Performance',
  },
};

/** Those of the bar on top of each page, in this order. */
const FEATURED = ['quick-start', 'receivers', 'errors', 'limits', 'production'];

const TITLES: Record<string, string> = Object.assign({}, ...Object.values(GROUPS));

/** The bar on top of a page. @param current path of the page */
export function navigation(current: string): string {
  const links = [
    ['/docs', 'API reference'],
    ...FEATURED.map((name) => [pathOf(name), TITLES[name]!] as const),
    ['/docs/guides', 'All guides'],
    ['/console', 'Console'],
  ] as const;
  const anchors = links.map(([path, title]) => {
    return `<a href="${path}"${path === current ? ' aria-current="page"' : ''}>${title}</a>`;
  });
  return `<header class="top"><a class="home" href="/">Postback</a>\n${anchors.join('\n')}</header>`;
}

/**
 * Paths of the guides and of their pictures, each with its type and what it holds. Few processes are asked for them, so a
 * guide is read and rendered on its first request.
 */
export function guidePages(): Map<string, readonly [type: string, content: () => string | Buffer]> {
  const pages = new Map<string, readonly [string, () => string | Buffer]>();
  pages.set('/docs/guides', ['html', once(() => frame('/docs/guides', 'Guides', listOfGuides()))]);
  for (const [name, title] of Object.entries(TITLES)) {
    const text = () => readFileSync(join(FOLDER, `${name}.md`), 'utf8');
    pages.set(pathOf(name), ['html', once(() => frame(pathOf(name), title, render(text())))]);
  }
  for (const file of readdirSync(FOLDER, { recursive: true, encoding: 'utf8' })) {
    const type = extname(file);
    if (PICTURES.includes(type)) {
      pages.set(`/docs/guides/${file.replaceAll('\\', '/')}`, [type, once(() => readFileSync(join(FOLDER, file)))]);
    }
  }
  return pages;
}

function once<Content>(make: () => Content): () => Content {
  let made: Content | undefined;
  return () => {
    made ??= make();
    return made;
  };
}

const pathOf = (name: string) => `/docs/guides/${name}`;

function listOfGuides(): string {
  const groups = Object.entries(GROUPS).map(([group, guides]) => {
    const links = Object.entries(guides).map(([name, title]) => `<li><a href="${pathOf(name)}">${title}</a></li>`);
    return `<h2>${group}</h2>\n<ul>\n${links.join('\n')}\n</ul>`;
  });
  return `<h1>Guides</h1>\n<p>The <a href="/docs">API reference</a> has every route, with samples.</p>\n${groups.join('\n')}`;
}

function frame(path: string, title: string, content: string): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title} - Postback</title>
<link rel="icon" type="image/png" href="/docs/favicon-32x32.png">
<link rel="stylesheet" href="/docs/page.css">
<script src="/docs/theme.js"></script>
<script src="/docs/copy.js" defer></script>
</head>
<body>
${navigation(path)}
<main class="guide">
${content}
</main>
</body>
</html>
`;
}

/** Markdown of the project as HTML. Links lead to other guides; what is not served here keeps its text only. */
function render(text: string): string {
  const markdown = new MarkdownIt({ html: true });
  const { rules } = markdown.renderer;
  rules.heading_open = (tokens, at, options, env, self) => {
    const { children } = tokens[at + 1]!;
    return `<${tokens[at]!.tag} id="${anchorOf(self.renderInline(children ?? [], options, env))}">`;
  };
  // A link to what is not served, from its beginning to its end.
  const isOpen: boolean[] = [];
  rules.link_open = (tokens, at) => {
    const target = targetOf(String(tokens[at]!.attrGet('href')));
    isOpen.push(target !== null);
    return target === null ? '' : `<a href="${target}">`;
  };
  rules.link_close = () => (isOpen.pop() ? '</a>' : '');
  rules.image = (tokens, at) => {
    const { content: alternative } = tokens[at]!;
    const href = String(tokens[at]!.attrGet('src'));
    const present = existsSync(join(FOLDER, href));
    return present ? `<img src="/docs/guides/${href}" alt="${alternative}" loading="lazy">` : alternative;
  };
  rules.html_block = (tokens, at) => (tokens[at]!.content.startsWith('<!--') ? '' : tokens[at]!.content);
  // A wide table scrolls by itself on a narrow screen.
  rules.table_open = () => '<div class="table" tabindex="0"><table>';
  rules.table_close = () => '</table></div>';
  return markdown.render(text);
}

/** @returns null for a file that is not served */
function targetOf(href: string): string | null {
  if (/^(https?:|#|\/)/.test(href)) return href;
  const [, name, anchor = ''] = /^([\w-]+)\.md(#.*)?$/.exec(href) ?? [];
  return name !== undefined && name in TITLES ? `${pathOf(name)}${anchor}` : null;
}

/** The anchor of a heading, as GitHub makes it. */
function anchorOf(html: string): string {
  const words = html
    .replace(/<[^<>]*>/g, '')
    .replace(/&\w+;|&#\d+;/g, '')
    .toLowerCase();
  return words
    .replace(/[^\p{L}\p{N}\s_-]/gu, '')
    .trim()
    .replaceAll(' ', '-');
}
