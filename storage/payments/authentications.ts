import type { Binary, ClientSession, Filter } from 'mongodb';
import { newAuthenticationId, sha256Hex } from '../../domain/ids.js';
import {
  type AuthenticationDetails,
  type AuthenticationTimes,
  type CreateAuthentication,
  type EligibilityCheckData,
  newClientSecret,
  type SdkNextAction,
  statusAt,
} from '../../domain/payments/authentications.js';
import { asSent, type SentNames } from '../../domain/payments/card-networks.js';
import { type DecisionReason, decideEligibility, type Network } from '../../domain/payments/eligibility-decision.js';
import { type AuthenticationStatus, OPEN_AUTHENTICATION_STATES } from '../../domain/payments/states.js';
import type { Sealer } from '../../domain/sealing.js';
import type { Access } from '../collections.js';
import { newestFirst, type PageQuery } from '../queries.js';
import { jsonSealingFor } from '../sealing.js';
import { inTransaction } from '../transactions.js';

export interface AuthenticationRecord {
  _id: string;
  org: string;
  status: AuthenticationStatus;
  /** In the currency's minor unit. */
  amount: number;
  currency: string;
  /** SHA-256 of the client secret, hex. The secret itself is never stored. */
  client_secret_hash: string;
  /** Customer, return URL and metadata as JSON. */
  sealed_details: Binary;
  /** Receives the callback when the authentication has ended. */
  webhook_url: string | null;
  /** The first eligibility check; later checks do not change it. `sealed_decision` has the reasons as JSON. */
  check: { fingerprint: string; sdk_next_action: SdkNextAction; sealed_decision: Binary; checked_at: Date } | null;
  created_at: Date;
  expires_at: Date;
  closed_at: Date | null;
  /** Time after which the reconciler checks the timer of an open authentication. */
  check_at: Date;
  /** When MongoDB removes the record. */
  remove_at: Date;
}

/** The data that the customer's browser sent to an eligibility check; a separate record, because it is removed earlier. */
export interface EligibilityDataRecord {
  /** The authentication's id. */
  _id: string;
  org: string;
  /** `eligibility_check_data` as JSON. */
  sealed: Binary;
  remove_at: Date;
}

export type Authentications = ReturnType<typeof createAuthentications>;

/**
 * Payment authentications. Every change of state is one conditional update. A workflow ends those whose time has passed;
 * records are removed by time alone. Personal data is sealed.
 */
export function createAuthentications(
  { mongoClient, authentications, eligibilityData }: Access<'mongoClient' | 'authentications' | 'eligibilityData'>,
  sealer: Sealer,
  times: AuthenticationTimes,
) {
  const sealedDetails = jsonSealingFor<AuthenticationDetails>(sealer, 'authentication-details');
  const sealedReasons = jsonSealingFor<DecisionReason[]>(sealer, 'eligibility-decision');
  const sealedData = jsonSealingFor<EligibilityCheckData>(sealer, 'eligibility-data');

  /** Excludes records that are due for removal, because MongoDB removes them only about once a minute. */
  const existing = (id: string, now: Date) => ({ _id: id, remove_at: { $gt: now } });
  /** @returns null when the authentication is unknown, removed, or another organisation's */
  const findForOrg = (org: string, id: string, now: Date) => authentications.forOrg(org).findOne(existing(id, now));

  return {
    findForOrg,

    /** Also finds a record that is due for removal. */
    getById(org: string, id: string): Promise<AuthenticationRecord | null> {
      return authentications.forOrg(org).findOne({ _id: id });
    },

    /** One page of an organisation's authentications, newest first. */
    listForOrg(
      org: string,
      { status, ...page }: PageQuery & { status?: AuthenticationStatus | undefined },
      now: Date,
    ): Promise<AuthenticationRecord[]> {
      const filter = { ...inState(status, now), remove_at: { $gt: now } };
      return newestFirst(authentications.forOrg(org), filter, page).toArray();
    },

    /** @returns a new record and its plain client secret, which is not stored and cannot be read again */
    prepare(org: string, { amount, currency, webhook_url, ...details }: CreateAuthentication, now: Date) {
      const id = newAuthenticationId();
      const clientSecret = newClientSecret(id);
      const expires_at = new Date(now.getTime() + times.expiresAfterMs);
      const record: AuthenticationRecord = {
        _id: id,
        org,
        status: 'started',
        amount,
        currency,
        client_secret_hash: sha256Hex(clientSecret),
        sealed_details: sealedDetails.seal(id, details),
        webhook_url: webhook_url ?? null,
        check: null,
        created_at: now,
        expires_at,
        closed_at: null,
        check_at: expires_at,
        remove_at: new Date(expires_at.getTime() + times.keptForMs),
      };
      return { record, clientSecret };
    },

    /** @param also writes in the same transaction */
    async add(
      record: AuthenticationRecord,
      tx?: ClientSession,
      also?: (tx: ClientSession) => Promise<void>,
    ): Promise<void> {
      const insert = async (session: ClientSession) => {
        await authentications.forOrg(record.org).insertOne(record, { session });
        await also?.(session);
      };
      await inTransaction(mongoClient, insert, tx);
    },

    /**
     * started -> eligibility_checked. Only one of two concurrent checks is stored.
     * @param authentication the authentication as it was read
     * @param check with the names of the networks as they were sent, under which they are returned
     * @returns the current authentication, with the check that was stored; null when it has been removed
     */
    async check(
      authentication: AuthenticationRecord,
      { data, sent }: { data: EligibilityCheckData; sent: SentNames },
      fingerprint: string,
      now: Date,
    ): Promise<AuthenticationRecord | null> {
      // The later states are final for this check, so a repeated check needs no transaction.
      if (statusAt(authentication, now) !== 'started') return authentication;
      const { _id: id, org } = authentication;
      const sentData = { click_to_pay: mapNetworks(data.click_to_pay, sent) };
      const sealed = sealedData.seal(id, sentData);
      const { sdk_next_action, reasons } = decideEligibility(data, now);
      const named = reasons.map((reason) => ({ ...reason, network: asSent(sent, reason.network) }));
      const sealed_decision = sealedReasons.seal(id, named as DecisionReason[]);
      const checked = await inTransaction(mongoClient, async (tx) => {
        const record = await authentications.forOrg(org).findOneAndUpdate(
          { ...existing(id, now), status: 'started', expires_at: { $gt: now } },
          {
            $set: {
              status: 'eligibility_checked',
              check: { fingerprint, sdk_next_action, sealed_decision, checked_at: now },
            },
          },
          { session: tx },
        );
        if (record) {
          const keptUntil = Math.min(now.getTime() + times.deviceDataKeptForMs, record.remove_at.getTime());
          await eligibilityData
            .forOrg(org)
            .insertOne({ _id: id, org, sealed, remove_at: new Date(keptUntil) }, { session: tx });
        }
        return record;
      });
      return checked ?? findForOrg(org, id, now);
    },

    /**
     * started | eligibility_checked -> closed, before its time has passed, or expired, afterwards; in the transaction that stores the
     * callback.
     * @returns null when there is no such authentication, or it has ended before
     */
    end(
      org: string,
      id: string,
      status: 'closed' | 'expired',
      now: Date,
      tx: ClientSession,
    ): Promise<AuthenticationRecord | null> {
      const [filter, change] =
        status === 'closed'
          ? [
              { ...existing(id, now), expires_at: { $gt: now } },
              { status, closed_at: now },
            ]
          : [{ _id: id, expires_at: { $lte: now } }, { status }];
      return authentications.forOrg(org).findOneAndUpdate({ ...filter, ...open }, { $set: change }, { session: tx });
    },

    /** Authentications that are open after their time. */
    stale: authentications.stale(() => open),

    /** @returns the plain details */
    openDetails({ _id, sealed_details }: AuthenticationRecord): AuthenticationDetails {
      return sealedDetails.open(_id, sealed_details);
    },

    /** @returns why the first check was decided as it was */
    openReasons(id: string, { sealed_decision }: NonNullable<AuthenticationRecord['check']>): DecisionReason[] {
      return sealedReasons.open(id, sealed_decision);
    },

    /** @returns the data of the first check, or null before the check and after the data was removed */
    async findCheckData({ _id, org }: AuthenticationRecord, now: Date): Promise<EligibilityCheckData | null> {
      const record = await eligibilityData.forOrg(org).findOne({ _id, remove_at: { $gt: now } });
      return record && sealedData.open(_id, record.sealed);
    },
  };
}

const open = { status: { $in: OPEN_AUTHENTICATION_STATES } };

/** A filter for the records that are in a state now. A timer may be late, so the filter compares the time too. */
function inState(status: AuthenticationStatus | undefined, now: Date): Filter<AuthenticationRecord> {
  if (status === undefined) return {};
  if (status === 'expired') return { $or: [{ status }, { ...open, expires_at: { $lte: now } }] };
  return status === 'closed' ? { status } : { status, expires_at: { $gt: now } };
}

function mapNetworks(
  clickToPay: EligibilityCheckData['click_to_pay'],
  sent: SentNames,
): EligibilityCheckData['click_to_pay'] {
  return Object.fromEntries(
    Object.entries(clickToPay).map(([network, data]) => [asSent(sent, network as Network), data]),
  );
}
