import { Binary, type Collection, type Filter, type MongoClient } from 'mongodb';
import { newAuthenticationId, sha256Hex } from '../../domain/ids.js';
import {
  type AuthenticationDetails,
  type AuthenticationTimes,
  type CreateAuthentication,
  type EligibilityCheckData,
  eligibilityOf,
  OPEN_AUTHENTICATION_STATES,
  type SdkNextAction,
  type StoredAuthenticationStatus,
  statusAt,
} from '../../domain/payments/authentications.js';
import { isClientSecret, newClientSecret } from '../../domain/payments/client-secrets.js';
import type { Sealer } from '../../domain/sealing.js';

export interface AuthenticationRecord {
  _id: string;
  org: string;
  status: StoredAuthenticationStatus;
  /** In the currency's minor unit. */
  amount: number;
  currency: string;
  /** SHA-256 of the client secret, hex. The secret itself is never stored. */
  client_secret_hash: string;
  /** JSON of customer, return URL and metadata. */
  sealed_details: Binary;
  /** The first eligibility check, which decides. */
  check: { fingerprint: string; sdk_next_action: SdkNextAction; checked_at: Date } | null;
  created_at: Date;
  expires_at: Date;
  closed_at: Date | null;
  /** When MongoDB removes it. */
  remove_at: Date;
}

/** What the customer's browser sent to an eligibility check, in a record of its own because it goes earlier. */
export interface EligibilityDataRecord {
  /** The authentication's id. */
  _id: string;
  org: string;
  /** JSON of `eligibility_check_data`. */
  sealed: Binary;
  remove_at: Date;
}

export type Authentications = ReturnType<typeof createAuthentications>;

/**
 * Payment authentications. Every move of a state is one conditional update; time alone makes one expired and has it
 * removed, so nothing has to run for that. What tells of a person is sealed.
 */
export function createAuthentications(
  {
    mongoClient,
    authentications,
    eligibilityData,
  }: {
    mongoClient: MongoClient;
    authentications: Collection<AuthenticationRecord>;
    eligibilityData: Collection<EligibilityDataRecord>;
  },
  sealer: Sealer,
  times: AuthenticationTimes,
) {
  const detailsContext = (id: string) => `authentication-details/${id}`;
  const dataContext = (id: string) => `eligibility-data/${id}`;

  /** MongoDB removes what is due about once a minute; until then it is already gone for everyone. */
  const ofOrg = (org: string, id: string, now: Date): Filter<AuthenticationRecord> => ({
    _id: id,
    org,
    remove_at: { $gt: now },
  });
  const findForOrg = (org: string, id: string, now: Date) => authentications.findOne(ofOrg(org, id, now));

  return {
    findForOrg,

    /** @returns the record and the client secret itself, which is in no other place and cannot be read again */
    async create(org: string, { amount, currency, ...details }: CreateAuthentication, now: Date) {
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
        sealed_details: new Binary(sealer.seal(JSON.stringify(details), detailsContext(id))),
        check: null,
        created_at: now,
        expires_at,
        closed_at: null,
        remove_at: new Date(expires_at.getTime() + times.keptForMs),
      };
      await authentications.insertOne(record);
      return { record, clientSecret };
    },

    /** @returns null alike for an unknown id, another organisation's, and a wrong secret */
    async verify(org: string, id: string, clientSecret: string, now: Date): Promise<AuthenticationRecord | null> {
      const record = await findForOrg(org, id, now);
      return isClientSecret(clientSecret, record?.client_secret_hash) ? record : null;
    },

    /**
     * Takes the first check of an open authentication; of two at once, one wins.
     * @param known as it was read just now
     * @returns the record as it stands then, whoever won; null when it has been removed meanwhile
     */
    async check(
      known: AuthenticationRecord,
      data: EligibilityCheckData,
      fingerprint: string,
      now: Date,
    ): Promise<AuthenticationRecord | null> {
      // No later moment can undo either, so a repeated check costs no transaction.
      if (statusAt(known, now) !== 'started') return known;
      const { _id: id, org } = known;
      const sealed = new Binary(sealer.seal(JSON.stringify(data), dataContext(id)));
      const won = await mongoClient.withSession((session) =>
        session.withTransaction(async () => {
          const record = await authentications.findOneAndUpdate(
            { ...ofOrg(org, id, now), status: 'started', expires_at: { $gt: now } },
            {
              $set: {
                status: 'eligibility_checked',
                check: { fingerprint, sdk_next_action: eligibilityOf(data), checked_at: now },
              },
            },
            { session, returnDocument: 'after' },
          );
          if (record) {
            const keptUntil = Math.min(now.getTime() + times.deviceDataKeptForMs, record.remove_at.getTime());
            await eligibilityData.insertOne({ _id: id, org, sealed, remove_at: new Date(keptUntil) }, { session });
          }
          return record;
        }),
      );
      return won ?? findForOrg(org, id, now);
    },

    /** Closes an open one; one that is over stays as it is. @returns the record then, null when there is none */
    async close(org: string, id: string, now: Date): Promise<AuthenticationRecord | null> {
      const closed = await authentications.findOneAndUpdate(
        { ...ofOrg(org, id, now), status: { $in: [...OPEN_AUTHENTICATION_STATES] }, expires_at: { $gt: now } },
        { $set: { status: 'closed', closed_at: now } },
        { returnDocument: 'after' },
      );
      return closed ?? findForOrg(org, id, now);
    },

    openDetails({ _id, sealed_details }: AuthenticationRecord): AuthenticationDetails {
      return JSON.parse(sealer.open(sealed_details.value(), detailsContext(_id)));
    },

    /** @returns the data of the first check, null before it and once they have been removed */
    async findCheckData({ _id, org }: AuthenticationRecord, now: Date): Promise<EligibilityCheckData | null> {
      const record = await eligibilityData.findOne({ _id, org, remove_at: { $gt: now } });
      return record && JSON.parse(sealer.open(record.sealed.value(), dataContext(_id)));
    },
  };
}
