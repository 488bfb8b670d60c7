import * as cheerio from 'cheerio';
import { checkDepth } from './html.js';
import { repack } from './repack.js';

const CONTENT = 'content.xml';
/** Text that is deleted, and how characters below it are pronounced. */
const LEFT_OUT = 'text\\:tracked-changes, text\\:ruby-text';
const GROUPS_OF_ROWS = 'table\\:table-header-rows, table\\:table-rows, table\\:table-row-group';
/** Elements of a line that show a text of their own. */
const FIELDS = (
  'author-name bibliography-mark bookmark-ref creator database-display date expression meta meta-field note-ref placeholder ' +
  'reference-ref ruby ruby-base sequence sequence-ref subject text-input time title user-defined user-field-get variable-get variable-set'
)
  .split(' ')
  .map((name) => `text\\:${name}`)
  .join(', ');

/**
 * A text or a presentation without its pictures, in markup that `officeparser` reads completely. By itself it reads deleted text,
 * and omits fields, the header of a table, lists in its cells, the cells that a merged cell covers, and titles of slides that
 * are the header of a list.
 * @param path a container that passed `checkArchive`
 */
export function readPlainOdf(path: string): Promise<Buffer> {
  return repack(path, (name, xml) => (name === CONTENT ? plainMarkup(xml) : xml));
}

function plainMarkup(xml: string): string {
  checkDepth(xml, { xmlMode: true });
  const $ = cheerio.load(xml, { xml: { decodeEntities: false } });
  $(LEFT_OUT).remove();
  const rename = (selector: string, to: string) => {
    for (const node of $(selector).toArray()) (node as { name: string }).name = to;
  };
  rename(FIELDS, 'text:span');
  rename('text\\:list-header', 'text:list-item');
  rename('table\\:covered-table-cell', 'table:table-cell');
  // From the end, so that the inner ones come first.
  for (const group of $(GROUPS_OF_ROWS).toArray().reverse()) $(group).replaceWith($(group).contents());
  for (const list of $('table\\:table-cell text\\:list').toArray().reverse())
    $(list).replaceWith($(list).children('text\\:list-item').contents());
  return $.xml();
}
