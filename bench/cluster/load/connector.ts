import { createHash } from 'node:crypto';
import { html, startSite } from '../../../test/support/site.js';
import { DATABASE, isFound, type LoadContext, type LoadKind } from './kind.js';

const PAGES = 6;

/** A connector of a site whose pages change, with a sync after each change. */
export async function connector(context: LoadContext): Promise<LoadKind> {
  const { requests, key } = context;
  const site = await startSite();
  const revisions = Array.from({ length: PAGES }, () => 0);
  const wordOf = (page: number) => `beacon${page}r${revisions[page]}x`;
  const urlOf = (page: number) => `${site.url}/page-${page}`;
  const write = (page: number) =>
    site.pages.set(`/page-${page}`, { body: html(`Page ${page}`, `The keeper painted ${wordOf(page)} white.`) });
  for (let page = 0; page < PAGES; page++) write(page);
  const urls = revisions.map((_, page) => urlOf(page));
  const created = await requests.send('POST', '/connectors', {
    key,
    body: { kind: 'web', database: DATABASE, settings: { urls }, schedule: { paused: true } },
  });
  const { id } = created.body;
  const itemOf = (page: number) => `${id}-${createHash('sha256').update(urlOf(page)).digest('hex').slice(0, 32)}`;
  const sync = () => requests.send('POST', `/connectors/${id}/sync`, { key });
  let syncs = 0;
  return {
    name: 'syncs',
    everyMs: 8_000,
    async send() {
      const page = syncs % PAGES;
      revisions[page] = revisions[page]! + 1;
      write(page);
      await sync();
      syncs += 1;
    },
    accepted: () => syncs,
    async missing() {
      const { body } = await requests.send('GET', `/connectors/${id}/status`, { key, startsWork: false });
      if (body.syncing) return ['a sync runs'];
      const outdated: string[] = [];
      for (let page = 0; page < PAGES; page++)
        if (!(await isFound(context, itemOf(page), wordOf(page))))
          outdated.push(`page ${page}: ${wordOf(page)} is not found`);
      // A change during a sync waits for the next one.
      if (outdated.length > 0) await sync();
      return outdated;
    },
    close: site.close,
  };
}
