import { Binary, type Db, type Document } from 'mongodb';
import type { SealedContext, SealedPurpose, Sealer } from '../domain/sealing.js';

const SIGNING_SECRET_PATHS = ['sealed_secret', 'previous_secrets.sealed_secret'];

/** Where sealed values are. */
export interface SealedField {
  purpose: SealedPurpose;
  collection: string;
  /** They may lead through arrays. */
  paths: readonly string[];
  /** The field with the id that is part of the values' context. Default: `_id`. */
  id?: string;
}

/** Where the sealed values of each purpose are. */
export const SEALED_FIELDS: readonly SealedField[] = [
  { purpose: 'webhook-signing-secret', collection: 'registrations', paths: SIGNING_SECRET_PATHS },
  { purpose: 'crew-signing-secret', collection: 'crew_signing_secrets', paths: SIGNING_SECRET_PATHS },
  { purpose: 'payment-signing-secret', collection: 'payment_signing_secrets', paths: SIGNING_SECRET_PATHS },
  { purpose: 'job-signing-key', collection: 'signing_keys', paths: ['sealed_private_key'] },
  { purpose: 'webhook-headers', collection: 'registrations', paths: ['headers.sealed'] },
  { purpose: 'job-headers', collection: 'ai_jobs', paths: ['headers.sealed'] },
  // A decision replaces the headers of its execution, whose callbacks keep those of their time.
  { purpose: 'crew-headers', collection: 'crew_executions', paths: ['headers.sealed'] },
  { purpose: 'crew-headers', collection: 'crew_feedback', paths: ['headers.sealed'], id: 'execution' },
  { purpose: 'crew-headers', collection: 'deliveries', paths: ['message.headers.sealed'], id: 'doc_id' },
  { purpose: 'connector-credentials', collection: 'connectors', paths: ['sealed_credentials'] },
  { purpose: 'authentication-details', collection: 'authentications', paths: ['sealed_details'] },
  { purpose: 'eligibility-decision', collection: 'authentications', paths: ['check.sealed_decision'] },
  { purpose: 'eligibility-data', collection: 'eligibility_data', paths: ['sealed'] },
  { purpose: 'idempotency', collection: 'idempotency_keys', paths: ['response.sealed_body'] },
];

/** Visits the sealed values of a document. */
export function eachSealed(collection: string, document: Document, visit: (sealed: Binary) => void): void {
  for (const field of SEALED_FIELDS) {
    if (field.collection !== collection) continue;
    for (const path of field.paths) {
      replaceValues(document, path.split('.'), (sealed) => {
        visit(sealed);
        return sealed;
      });
    }
  }
}

type Stored = Document & { _id: string };

/** Result of a rotation. */
export interface ResealReport {
  /** Values that are sealed with the current key now, and were not before. */
  resealed: number;
  /** Values that cannot be opened with the configured keys, by collection. */
  unreadable: Record<string, number>;
}

const PAGE = 200;

/**
 * Seals every value again that was not sealed with the current key. Readers and writers may run: a value is replaced only
 * if it is still the one that was read. Passes are repeated until one finds nothing to do, and an interrupted run can
 * simply be started again.
 */
export async function resealAll(db: Db, sealer: Sealer): Promise<ResealReport> {
  const report: ResealReport = { resealed: 0, unreadable: {} };
  for (const { purpose, collection, paths, id = '_id' } of SEALED_FIELDS) {
    for (const path of paths) {
      const at = { collection, purpose, path: path.split('.'), id };
      let pass = await resealField(db, sealer, at);
      report.resealed += pass.resealed;
      while (pass.resealed + pass.changed > 0) {
        pass = await resealField(db, sealer, at);
        report.resealed += pass.resealed;
      }
      if (pass.unreadable > 0) report.unreadable[collection] = (report.unreadable[collection] ?? 0) + pass.unreadable;
    }
  }
  return report;
}

/** One pass over a field of a collection. `changed`: records that a writer changed at the same time. */
async function resealField(
  db: Db,
  sealer: Sealer,
  {
    collection,
    purpose,
    path,
    id,
  }: { collection: string; purpose: SealedPurpose; path: readonly string[]; id: string },
) {
  const records = db.collection<Stored>(collection);
  const [field, ...rest] = path as [string, ...string[]];
  const found = { resealed: 0, changed: 0, unreadable: 0 };
  let last: string | undefined;
  for (;;) {
    const page = await records
      .find({ ...(last === undefined ? {} : { _id: { $gt: last } }), [path.join('.')]: { $type: 'binData' } })
      .project<Stored>({ [field]: 1, [id]: 1 })
      .sort({ _id: 1 })
      .limit(PAGE)
      .toArray();
    for (const record of page) {
      const context: SealedContext = `${purpose}/${record[id]}`;
      let count = 0;
      const value = replaceValues(record[field], rest, (sealed) => {
        if (sealer.isCurrent(sealed.buffer)) return sealed;
        const plain = tryOpen(sealer, sealed, context);
        if (plain === null) {
          found.unreadable += 1;
          return sealed;
        }
        count += 1;
        return new Binary(sealer.seal(plain, context));
      });
      if (count === 0) continue;
      const { matchedCount } = await records.updateOne(
        { _id: record._id, [field]: { $eq: record[field] } },
        { $set: { [field]: value } },
      );
      if (matchedCount === 1) found.resealed += count;
      else found.changed += 1;
    }
    if (page.length < PAGE) return found;
    last = page.at(-1)!._id;
  }
}

/** Replaces the sealed values below a field. @param path inside the field */
function replaceValues(value: unknown, path: readonly string[], replace: (sealed: Binary) => Binary): unknown {
  if (Array.isArray(value)) return value.map((element) => replaceValues(element, path, replace));
  const [step, ...rest] = path;
  if (step === undefined) return value instanceof Binary ? replace(value) : value;
  if (value === null || typeof value !== 'object' || !(step in value)) return value;
  const fields = value as Record<string, unknown>;
  return { ...fields, [step]: replaceValues(fields[step], rest, replace) };
}

/** @returns null when the value cannot be opened with the configured keys */
function tryOpen(sealer: Sealer, sealed: Binary, context: SealedContext): string | null {
  try {
    return sealer.open(sealed.value(), context);
  } catch {
    return null;
  }
}
