import { ingestForm } from './form.js';
import {
  announcedItems,
  announcedTwice,
  DATABASE,
  isFound,
  type LoadContext,
  type LoadKind,
  missingItems,
  statusesOf,
} from './kind.js';

const AT_A_TIME = 3;
/** Notes that are deleted again: every so many. */
const DELETE_EVERY = 10;
/** How often a query may miss an item that has just been announced. */
const LOOKS = 20;

/** A word that no other note has. */
const wordOf = (n: number) => `lantern${n}x`;
const idOf = (n: number) => `note-${n}`;

/** Notes, queries for those that were announced, and deletions of some. */
export function notes(context: LoadContext): LoadKind[] {
  const { requests, key, random, receiver } = context;
  const accepted: number[] = [];
  const deleted = new Set<number>();
  const wrong: string[] = [];
  let sent = 0;
  let queries = 0;
  let missedOnce = 0;

  const ingest: LoadKind = {
    name: 'notes',
    everyMs: 1_000,
    async send() {
      const numbers = Array.from({ length: AT_A_TIME }, () => sent++);
      const memories = numbers.map((n) => ({
        id: idOf(n),
        text: `The keeper lit ${wordOf(n)} at dusk, as number ${n}.`,
      }));
      const body = ingestForm(DATABASE, { memories });
      const { body: response } = await requests.send('POST', '/context/ingest', { key, body });
      if (response.data.success_count !== AT_A_TIME) wrong.push(`notes rejected: ${JSON.stringify(response.data)}`);
      accepted.push(...numbers);
    },
    accepted: () => accepted.length,
    missing: () => missingItems(context, accepted.filter((n) => !deleted.has(n)).map(idOf)),
    violations: () => [...wrong, ...announcedTwice(receiver, accepted.map(idOf))],
  };

  /** A note that has been announced and is still there. */
  function anAnnouncedNote(): number | undefined {
    const announced = announcedItems(receiver);
    const present = accepted.filter((n) => announced.has(idOf(n)) && !deleted.has(n));
    return present[Math.floor(random.next() * present.length)];
  }

  const query: LoadKind = {
    name: 'queries',
    everyMs: 700,
    async send() {
      const n = anAnnouncedNote();
      if (n === undefined) return;
      queries += 1;
      for (let look = 1; !(await isFound(context, idOf(n), wordOf(n))); look++) {
        if (deleted.has(n)) return;
        if (look === 1) missedOnce += 1;
        if (look === LOOKS) {
          wrong.push(`${idOf(n)} was announced as completed, and ${LOOKS} queries did not find it`);
          return;
        }
      }
    },
    accepted: () => queries,
    missing: async () => [],
    violations: () =>
      missedOnce > 0 ? [`${missedOnce} queries did not find an announced note at the first look`] : [],
  };

  const remove: LoadKind = {
    name: 'deletions',
    everyMs: DELETE_EVERY * 1_000,
    async send() {
      const n = anAnnouncedNote();
      if (n === undefined) return;
      // Before the request: a query that runs beside it may find the note or not.
      deleted.add(n);
      const body = { database: DATABASE, ids: [idOf(n)] };
      const { status, tries } = await requests.send('DELETE', '/context', { key, body, allow: [404] });
      if (status === 404 && tries === 1) wrong.push(`${idOf(n)} was gone before it was deleted`);
    },
    accepted: () => deleted.size,
    async missing() {
      const ids = [...deleted].map(idOf);
      const statuses = await statusesOf(context, ids);
      const kept = ids.filter((id) => (statuses.get(id)?.error_code ?? 'FILE_NOT_FOUND') !== 'FILE_NOT_FOUND');
      const found: string[] = [];
      for (const n of deleted) if (await isFound(context, idOf(n), wordOf(n))) found.push(idOf(n));
      return [
        ...kept.map((id) => `${id}: deleted, and it has a status`),
        ...found.map((id) => `${id}: deleted, and found`),
      ];
    },
  };
  return [ingest, query, remove];
}
