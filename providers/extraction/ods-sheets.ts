import { readEntries } from './archive-limits.js';

const CONTENT = 'content.xml';

/** Names of an OpenDocument workbook's sheets that a reader does not see: their style says so. */
export async function hiddenSheets(path: string): Promise<Set<string>> {
  const xml = (await readEntries(path, (name) => name === CONTENT)).get(CONTENT) ?? '';
  const styles = new Set<string>();
  for (const [, attributes, properties] of xml.matchAll(
    /<style:style\s([^>]{0,2000})>\s*<style:table-properties\s([^>]{0,2000})>/g,
  ))
    if (/table:display="false"/.test(properties!)) styles.add(/style:name="([^"]*)"/.exec(attributes!)?.[1] ?? '');
  const hidden = new Set<string>();
  for (const [, attributes] of xml.matchAll(/<table:table\s([^>]{0,2000})>/g)) {
    const name = /table:name="([^"]*)"/.exec(attributes!)?.[1];
    if (name !== undefined && styles.has(/table:style-name="([^"]*)"/.exec(attributes!)?.[1] ?? ''))
      hidden.add(decode(name));
  }
  return hidden;
}

const ENTITIES: Record<string, string> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" };
const decode = (text: string) => text.replace(/&(amp|lt|gt|quot|apos);/g, (_, name: string) => ENTITIES[name]!);
