import type { EligibilityCheckData, SdkNextAction } from './authentications.js';

/**
 * The decision table of the eligibility check: what each signal of a card network says, and what follows from it. The
 * check is decided by all rows that apply: `await_merchant_callback` if at least one row of a network leads to it, else
 * `proceed`. Rows without an effect decide nothing; they are kept as reasons, for the merchant. An authentication that is
 * closed or has expired is denied before the table is read. docs/payments.md shows the table, and a test compares the two.
 */

export const NETWORKS = ['network_a', 'network_b'] as const;
export type Network = (typeof NETWORKS)[number];

export const DECISION_EFFECTS = ['await_merchant_callback', 'proceed', 'none'] as const;
export type DecisionEffect = (typeof DECISION_EFFECTS)[number];

interface Rule {
  networks: readonly Network[];
  effect: DecisionEffect;
  /** For the documentation; continues "The network …". */
  means: string;
  applies(data: NetworkData, now: Date): boolean;
}

/** All fields of both networks; the schema decides which network has which. */
type ClickToPay = EligibilityCheckData['click_to_pay'];
type NetworkData = NonNullable<ClickToPay['network_a']> & NonNullable<ClickToPay['network_b']>;

/** The rules by the name of their signal, in the order of the reasons. */
export const DECISION_TABLE = {
  consumer_present: {
    networks: NETWORKS,
    effect: 'await_merchant_callback',
    means: 'says that the consumer is present (`consumerPresent` is true)',
    applies: ({ consumerPresent }) => consumerPresent === true,
  },
  consumer_absent: {
    networks: NETWORKS,
    effect: 'proceed',
    means: 'says that the consumer is not present (`consumerPresent` is false)',
    applies: ({ consumerPresent }) => consumerPresent === false,
  },
  presence_unknown: {
    networks: NETWORKS,
    effect: 'proceed',
    means: 'does not say whether the consumer is present',
    applies: ({ consumerPresent }) => consumerPresent === undefined,
  },
  consumer_status_given: {
    networks: ['network_a'],
    effect: 'none',
    means: 'gives a consumer status (`consumerStatus`) in its own words',
    applies: ({ consumerStatus }) => isGiven(consumerStatus),
  },
  consumer_looked_up: {
    networks: ['network_b'],
    effect: 'none',
    means: 'has looked the consumer up (`idLookupSessionId`)',
    applies: ({ idLookupSessionId }) => isGiven(idLookupSessionId),
  },
  card_used_before: {
    networks: ['network_b'],
    effect: 'none',
    means: 'knows a card that was used before (`lastUsedCardTimestamp`)',
    applies: ({ lastUsedCardTimestamp }, now) => timeOf(lastUsedCardTimestamp) <= now.getTime(),
  },
  card_time_invalid: {
    networks: ['network_b'],
    effect: 'none',
    means: 'gives a `lastUsedCardTimestamp` that is not a time, or is in the future',
    applies: ({ lastUsedCardTimestamp }, now) =>
      isGiven(lastUsedCardTimestamp) && !(timeOf(lastUsedCardTimestamp) <= now.getTime()),
  },
  known_but_not_present: {
    networks: NETWORKS,
    effect: 'none',
    means: 'has looked the consumer up or knows a card, but does not say that the consumer is present',
    applies: ({ consumerPresent, idLookupSessionId, lastUsedCardTimestamp }) =>
      consumerPresent !== true && (isGiven(idLookupSessionId) || isGiven(lastUsedCardTimestamp)),
  },
  device_described: {
    networks: ['network_a'],
    effect: 'none',
    means: 'describes the device (`customData`)',
    applies: ({ customData }) => describesDevice(customData),
  },
  device_unknown: {
    networks: ['network_a'],
    effect: 'none',
    means: 'does not describe the device',
    applies: ({ customData }) => !describesDevice(customData),
  },
} as const satisfies Record<string, Rule>;

export type DecisionSignal = keyof typeof DECISION_TABLE;
export const DECISION_SIGNALS = Object.keys(DECISION_TABLE) as [DecisionSignal, ...DecisionSignal[]];

/** A row of the table that applied to a check. It has no value that the browser sent. */
export interface DecisionReason {
  network: Network;
  signal: DecisionSignal;
  effect: DecisionEffect;
}

export interface EligibilityDecision {
  sdk_next_action: Exclude<SdkNextAction, 'deny'>;
  reasons: DecisionReason[];
}

/** Decides the first check of an open authentication. @param now a card cannot have been used after it */
export function decideEligibility({ click_to_pay }: EligibilityCheckData, now: Date): EligibilityDecision {
  const reasons = NETWORKS.flatMap((network) => {
    const data = click_to_pay[network];
    return data === undefined ? [] : reasonsOf(network, data, now);
  });
  const waits = reasons.some(({ effect }) => effect === 'await_merchant_callback');
  return { sdk_next_action: waits ? 'await_merchant_callback' : 'proceed', reasons };
}

function reasonsOf(network: Network, data: NetworkData, now: Date): DecisionReason[] {
  return DECISION_SIGNALS.flatMap((signal) => {
    const { networks, effect, applies }: Rule = DECISION_TABLE[signal];
    return networks.includes(network) && applies(data, now) ? [{ network, signal, effect }] : [];
  });
}

const isGiven = (value: string | undefined): boolean => value !== undefined && value.trim() !== '';

const describesDevice = (device: object | undefined): boolean => device !== undefined && Object.keys(device).length > 0;

/** @returns milliseconds since 1970 of an ISO time, or of seconds or milliseconds in digits; NaN for anything else */
function timeOf(value: string | undefined): number {
  if (value === undefined) return Number.NaN;
  if (/^\d{10}$/.test(value)) return Number(value) * 1000;
  return /^\d{13}$/.test(value) ? Number(value) : Date.parse(value);
}
