import { posix } from 'node:path';
import * as cheerio from 'cheerio';
import { readEntries } from './archive-limits.js';

export interface SlideOrder {
  /** 1-based place in the deck by the number in the slide's file name. */
  pages: Map<number, number>;
  /** Number of a slide's file by the number in its notes' file name. */
  notes: Map<number, number>;
}

const PRESENTATION = 'ppt/presentation.xml';
const PRESENTATION_RELATIONS = 'ppt/_rels/presentation.xml.rels';

/** Reads from a deck's relationships which slide stands where and whose notes are whose. */
export async function slideOrder(path: string): Promise<SlideOrder> {
  const parts = await readEntries(
    path,
    (name) =>
      name === PRESENTATION ||
      name === PRESENTATION_RELATIONS ||
      /^ppt\/slides\/_rels\/slide\d+\.xml\.rels$/.test(name),
  );
  const order: SlideOrder = { pages: new Map(), notes: new Map() };
  const targets = relations(parts.get(PRESENTATION_RELATIONS));
  const presentation = cheerio.load(parts.get(PRESENTATION) ?? '', { xml: true });
  presentation('p\\:sldIdLst > p\\:sldId').each((index, slide) => {
    const file = fileNumber(targets.get(presentation(slide).attr('r:id') ?? ''));
    if (file !== null) order.pages.set(file, index + 1);
  });
  for (const [name, xml] of parts) {
    if (!name.startsWith('ppt/slides/')) continue;
    for (const target of relations(xml).values()) {
      const note = target.includes('notesSlide') ? fileNumber(target) : null;
      if (note !== null) order.notes.set(note, fileNumber(name.replace(/\.rels$/, ''))!);
    }
  }
  return order;
}

/** Targets by id, of a part's relationships. */
export function relations(xml = ''): Map<string, string> {
  const $ = cheerio.load(xml, { xml: true });
  return new Map(
    $('Relationship')
      .toArray()
      .map((node) => [$(node).attr('Id') ?? '', $(node).attr('Target') ?? '']),
  );
}

function fileNumber(target = ''): number | null {
  const digits = /(\d+)\.xml$/.exec(posix.basename(target))?.[1];
  return digits ? Number(digits) : null;
}
