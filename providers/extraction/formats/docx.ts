import * as cheerio from 'cheerio';
import { checkDepth } from './html.js';
import { repack } from './repack.js';

/** The entries that are text of the document. */
const TEXT = /^word\/(?:document|footnotes|endnotes)\d*\.xml$/;
/** Elements of a run that stand for a character. */
const CHARACTERS: Record<string, string> = { 'w:tab': '\t', 'w:br': '\n', 'w:cr': '\n', 'w:noBreakHyphen': '-' };

/**
 * The document without its pictures, in markup that `officeparser` reads completely. By itself it omits content controls around
 * paragraphs and tables, text boxes, tabs and line breaks, and reads what was moved at both places.
 * @param path a container that passed `checkArchive`
 */
export function readPlainDocx(path: string): Promise<Buffer> {
  return repack(path, (name, xml) => (TEXT.test(name) ? plainMarkup(xml) : xml));
}

function plainMarkup(xml: string): string {
  checkDepth(xml, { xmlMode: true });
  const $ = cheerio.load(xml, { xml: { decodeEntities: false } });
  $('w\\:del, w\\:moveFrom, mc\\:Fallback').remove();
  // Characters with their pronunciation above them, as runs within a run.
  for (const ruby of $('w\\:r > w\\:ruby').toArray())
    $(ruby).parent().replaceWith($(ruby).children('w\\:rubyBase').contents());
  for (const node of $('w\\:r > w\\:tab, w\\:r > w\\:br, w\\:r > w\\:cr, w\\:r > w\\:noBreakHyphen').toArray()) {
    $(node).text(CHARACTERS[node.name]!);
    node.name = 'w:t';
  }
  // From the end, so that the inner ones come first.
  for (const control of $('w\\:sdt').toArray().reverse())
    $(control).replaceWith($(control).children('w\\:sdtContent').contents());
  for (const box of $('w\\:txbxContent').toArray().reverse()) $(box).parents('w\\:p').last().after($(box).children());
  return $.xml();
}
