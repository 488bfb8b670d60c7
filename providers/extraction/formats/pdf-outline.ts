import type { PDFDocumentProxy } from 'pdfjs-dist/types/src/display/api.js';
import { cleanText } from '../plain-text.js';

type Bookmark = Awaited<ReturnType<PDFDocumentProxy['getOutline']>>[number];

/** Real outlines are smaller. The rest of a larger one is ignored. */
const MAX_BOOKMARKS = 5_000;
const MAX_DEPTH = 6;

/**
 * Reads a PDF's bookmarks as headings.
 * @returns the headings of a page number, outermost first: the path of titles to the page's first bookmark, or to the last
 * bookmark before the page
 */
export async function pageHeadings(document: PDFDocumentProxy): Promise<(page: number) => string[]> {
  const starts: { page: number; headings: string[] }[] = [];
  let seen = 0;
  async function visit(bookmarks: readonly Bookmark[], above: string[]): Promise<void> {
    for (const bookmark of bookmarks) {
      if (++seen > MAX_BOOKMARKS) return;
      const title = cleanText(bookmark.title).replace(/\s+/g, ' ').trim();
      const headings = title === '' ? above : [...above, title];
      const page = await pageOf(document, bookmark.dest);
      if (page !== null) starts.push({ page, headings });
      if (headings.length < MAX_DEPTH) await visit(bookmark.items, headings);
    }
  }
  await visit((await document.getOutline().catch(() => null)) ?? [], []);
  starts.sort((a, b) => a.page - b.page);
  return (page) => {
    const here = starts.find((start) => start.page === page);
    return [...((here ?? starts.findLast((start) => start.page < page))?.headings ?? [])];
  };
}

/** @returns null when the bookmark leads to no page of the document */
async function pageOf(document: PDFDocumentProxy, destination: Bookmark['dest']): Promise<number | null> {
  try {
    const target = typeof destination === 'string' ? await document.getDestination(destination) : destination;
    if (!target) return null;
    const [page] = target;
    return typeof page === 'number' ? page + 1 : (await document.getPageIndex(page)) + 1;
  } catch {
    return null;
  }
}
