import { posix } from 'node:path';
import * as cheerio from 'cheerio';
import { readEntries, relationshipTargets } from './archive.js';

export interface SlideOrder {
  /** Position in the presentation (from 1), by the number in the slide's file name. */
  pages: Map<number, number>;
  /** Number in the slide's file name, by the number in the file name of its notes. */
  notes: Map<number, number>;
}

const PRESENTATION = 'ppt/presentation.xml';
const PRESENTATION_RELATIONS = 'ppt/_rels/presentation.xml.rels';

/** Reads the order of the slides of a PPTX, and the slide of each notes page, from its relationships. */
export async function slideOrder(path: string): Promise<SlideOrder> {
  const entries = await readEntries(
    path,
    (name) =>
      name === PRESENTATION ||
      name === PRESENTATION_RELATIONS ||
      /^ppt\/slides\/_rels\/slide\d+\.xml\.rels$/.test(name),
  );
  const order: SlideOrder = { pages: new Map(), notes: new Map() };
  const targets = relationshipTargets(entries.get(PRESENTATION_RELATIONS));
  const presentation = cheerio.load(entries.get(PRESENTATION) ?? '', { xml: true });
  presentation('p\\:sldIdLst > p\\:sldId').each((index, slide) => {
    const file = fileNumber(targets.get(presentation(slide).attr('r:id') ?? ''));
    if (file !== null) order.pages.set(file, index + 1);
  });
  for (const [name, xml] of entries) {
    if (!name.startsWith('ppt/slides/')) continue;
    for (const target of relationshipTargets(xml).values()) {
      const note = target.includes('notesSlide') ? fileNumber(target) : null;
      if (note !== null) order.notes.set(note, fileNumber(name.replace(/\.rels$/, ''))!);
    }
  }
  return order;
}

function fileNumber(target = ''): number | null {
  const digits = /(\d+)\.xml$/.exec(posix.basename(target))?.[1];
  return digits ? Number(digits) : null;
}
