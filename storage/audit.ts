import type { Actor, AuditAction, AuditSubject } from '../domain/audit.js';
import { ServiceError } from '../domain/errors.js';
import { newAuditId } from '../domain/ids.js';
import { DAY_MS } from '../domain/webhooks/delivery-policy.js';
import type { Access } from './collections.js';
import { newestFirst, type PageQuery } from './queries.js';

/** An act in an organisation. */
export interface Act {
  org: string;
  action: AuditAction;
  actor: Actor;
  subject: AuditSubject;
  /** The address that the request came from; null on the command line. */
  address: string | null;
  request_id: string | null;
}

export interface AuditRecord extends Act {
  /** `aud_…` */
  _id: string;
  /** Whether the act is known to have succeeded. Others may have: their process ended, or failed, before it knew. */
  done: boolean;
  created_at: Date;
  /** When MongoDB removes the record. */
  expires_at: Date;
}

const RETENTION_MS = 90 * DAY_MS;

export type Audit = ReturnType<typeof createAudit>;

/** The audit log: who has done what in an organisation. */
export function createAudit({ auditEntries, now }: Access<'auditEntries' | 'now'>) {
  return {
    /**
     * Does the work of an act, and records it. The entry is stored first, so no act is without one, however the process ends; it is
     * removed when the work is rejected.
     * @param work returns what it did, and what is known of its subject afterwards
     * @throws what the work throws, and the error of MongoDB when the entry cannot be stored: nothing is done then
     */
    async record<Result>(act: Act, work: () => Promise<{ result: Result; subject?: AuditSubject }>): Promise<Result> {
      const { org } = act;
      const created_at = now();
      const expires_at = new Date(created_at.getTime() + RETENTION_MS);
      const _id = newAuditId();
      const entries = auditEntries.forOrg(org);
      await entries.insertOne({ _id, ...act, done: false, created_at, expires_at });
      try {
        const { result, subject } = await work();
        // The act is done and the entry is stored: without this write, it says less.
        await entries
          .updateOne({ _id }, { $set: { done: true, subject: { ...act.subject, ...subject } } })
          .catch(() => undefined);
        return result;
      } catch (error) {
        const isRejection = error instanceof ServiceError && error.status < 500;
        if (isRejection) await entries.deleteOne({ _id }).catch(() => undefined);
        throw error;
      }
    },

    /** @returns one page, newest first */
    listForOrg(org: string, page: PageQuery): Promise<AuditRecord[]> {
      return newestFirst(auditEntries.forOrg(org), {}, page).toArray();
    },
  };
}
