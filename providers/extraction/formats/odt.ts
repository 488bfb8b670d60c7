import * as cheerio from 'cheerio';
import { checkDepth } from './html.js';
import { repack } from './repack.js';

const CONTENT = 'content.xml';
const CHANGES = 'text:tracked-changes';

/**
 * The document without its pictures, and without deleted text, which `officeparser` reads.
 * @param path a container that passed `checkArchive`
 */
export function readPlainOdt(path: string): Promise<Buffer> {
  return repack(path, (name, xml) => (name === CONTENT && xml.includes(CHANGES) ? withoutChanges(xml) : xml));
}

function withoutChanges(xml: string): string {
  checkDepth(xml, { xmlMode: true });
  const $ = cheerio.load(xml, { xml: { decodeEntities: false } });
  $(CHANGES.replace(':', '\\:')).remove();
  return $.xml();
}
