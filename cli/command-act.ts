import type { AuditAction, AuditSubject } from '../domain/audit.js';
import type { Act } from '../storage/audit.js';

/** What an operator does in an organisation on the command line, for the audit log. */
export function commandAct(org: string, action: AuditAction, subject: AuditSubject): Act {
  return { org, action, subject, actor: { type: 'command_line' }, address: null, request_id: null };
}
