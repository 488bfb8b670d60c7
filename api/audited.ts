import type { RouterContext } from '@koa/router';
import type { Actor, AuditAction, AuditSubject } from '../domain/audit.js';
import type { RequestState } from './request-context.js';

/** What the audit log says of the requests of a route. The methods throw as the handler would. */
export interface AuditDeclaration<Body, Data> {
  /** What the route does. Of several actions, `choose` says which. */
  actions: readonly [AuditAction, ...AuditAction[]];
  choose?(body: Body): AuditAction;
  /** What a request acts on; where it has no key, also who acts, and in which organisation. */
  about(ctx: RouterContext<RequestState>, body: Body): Promise<ActedOn> | ActedOn;
  /** What the response adds to the subject. */
  learn?(data: Data): AuditSubject;
}

interface ActedOn {
  subject: AuditSubject;
  by?: { org: string; actor: Actor };
}

/**
 * Does the work of a request, and records it in the audit log if its route declares that.
 * @param work returns the data of the response
 */
export async function recordAct<Body, Data>(
  declaration: AuditDeclaration<Body, Data> | undefined,
  ctx: RouterContext<RequestState>,
  body: Body,
  work: () => Promise<Data | undefined>,
): Promise<void> {
  if (!declaration) {
    await work();
    return;
  }
  const { principal, from: address, request_id } = ctx.state;
  const { subject, by } = await declaration.about(ctx, body);
  const act = {
    ...(by ?? {
      org: principal.org,
      actor: { type: 'key' as const, key_id: principal.key_id, label: principal.label },
    }),
    action: declaration.choose?.(body) ?? declaration.actions[0],
    subject,
    address,
    request_id,
  };
  await ctx.state.audit.record(act, async () => {
    const data = await work();
    return { result: undefined, subject: (data !== undefined && declaration.learn?.(data)) || {} };
  });
}
