import { html } from '../../../test/support/site.js';
import { proseText } from '../../support/work.js';
import { ingestForm } from './form.js';
import { announcedItems, announcedTwice, DATABASE, type LoadContext, type LoadKind, missingItems } from './kind.js';

type Make = (n: number) => { name: string; content: string };

/** Small and large, some of which take one step and some four. */
const FILES: readonly Make[] = [
  (n) => ({ name: `log-${n}.md`, content: `# Log ${n}\n\n${proseText(n, 3_000)}` }),
  (n) => ({ name: `page-${n}.html`, content: html(`Page ${n}`, proseText(n, 6_000)) }),
  (n) => ({ name: `long-${n}.txt`, content: proseText(n, 24_000) }),
  (n) => ({
    name: `table-${n}.csv`,
    content: `day,lamp\n${Array.from({ length: 60 }, (_, day) => `${day},lamp ${n}`).join('\n')}`,
  }),
];

/** Files, whose bytes must come back as they were sent. */
export function files(context: LoadContext): LoadKind {
  const { requests, key, receiver } = context;
  const accepted = new Map<string, string>();
  let sent = 0;
  return {
    name: 'files',
    everyMs: 4_000,
    async send() {
      const n = sent++;
      const file = FILES[n % FILES.length]!(n);
      const id = `file-${n}`;
      const body = ingestForm(DATABASE, { document_metadata: [{ id }] }, file);
      await requests.send('POST', '/context/ingest', { key, body });
      accepted.set(id, file.content);
    },
    accepted: () => accepted.size,
    missing: () => missingItems(context, [...accepted.keys()]),
    async violations() {
      const changed: string[] = [];
      for (const [id, content] of accepted) {
        const path = `/context/${id}/content?database=${DATABASE}`;
        const { body } = await requests.send('GET', path, { key, startsWork: false });
        if (body !== content) changed.push(`${id}: its content differs from what was sent`);
      }
      return [...changed, ...announcedTwice(receiver, [...accepted.keys()])];
    },
  };
}

/** Items that are replaced again and again. Each version ends and is announced once. */
export function replacements(context: LoadContext): LoadKind {
  const { requests, key, receiver } = context;
  const ids = ['living-1', 'living-2', 'living-3'];
  const versions = new Map(ids.map((id) => [id, 0]));
  const announcements = (id: string) => announcedItems(receiver).get(id)?.size ?? 0;
  return {
    name: 'versions',
    everyMs: 3_000,
    async send() {
      // A version that is replaced before its end is not announced.
      const id = ids.find((each) => announcements(each) === versions.get(each));
      if (id === undefined) return;
      const version = versions.get(id)! + 1;
      const memories = [{ id, text: `The keeper wrote edition${version}of${id.replace('-', '')} of the log.` }];
      const body = ingestForm(DATABASE, { upsert: 'true', memories });
      versions.set(id, version);
      await requests.send('POST', '/context/ingest', { key, body });
      ids.push(ids.shift()!);
    },
    accepted: () => [...versions.values()].reduce((sum, count) => sum + count, 0),
    async missing() {
      const unannounced = ids.filter((id) => announcements(id) < versions.get(id)!);
      return [
        ...unannounced.map((id) => `${id}: ${announcements(id)} of ${versions.get(id)} versions announced`),
        ...(await missingItems(
          context,
          ids.filter((id) => versions.get(id)! > 0),
        )),
      ];
    },
    violations: () =>
      ids.flatMap((id) => {
        const [count, sent] = [announcements(id), versions.get(id)!];
        return count > sent ? [`${id}: ${count} announcements of ${sent} versions`] : [];
      }),
  };
}
