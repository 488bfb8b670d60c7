import { z } from 'zod';
import { NETWORKS, type Network } from './eligibility-decision.js';

/** The names of the two card networks, as browsers may send them beside `network_a` and `network_b`. */
export type CardNetworks = Readonly<Record<Network, string>>;

/** The setting: two names, the first network's first. */
export const cardNetworksSchema = z
  .string()
  .default(NETWORKS.join())
  .transform((text) => text.split(',').map((name) => name.trim()))
  .refine(
    (names) =>
      names.length === 2 && names[0] !== names[1] && names.every((name) => /^[a-z][a-z0-9_-]{0,39}$/i.test(name)),
    'must be two different names, separated by a comma',
  )
  .transform(([network_a, network_b]): CardNetworks => ({ network_a: network_a!, network_b: network_b! }));

/** Which name a request uses for each network. */
export type SentNames = Readonly<Partial<Record<Network, string>>>;

/** The name of a network as it was sent. */
export const asSent = (sent: SentNames, network: Network): string => sent[network] ?? network;

/**
 * Renames the networks of a check to the specification's words.
 * @param body of `POST …/eligibility-check`; what is not of its form stays as it is
 * @returns null when a network is sent under both of its names
 */
export function withKnownNetworks(networks: CardNetworks, body: unknown): { body: unknown; sent: SentNames } | null {
  const data = fieldOf(body, 'eligibility_check_data');
  const given = fieldOf(data, 'click_to_pay');
  if (!given) return { body, sent: {} };
  const renamed: Record<string, unknown> = {};
  const sent: Partial<Record<Network, string>> = {};
  for (const [name, value] of Object.entries(given)) {
    const network = NETWORKS.find((literal) => name === literal || name === networks[literal]);
    // Not given under this name.
    if (network && value === null) continue;
    const key = network ?? name;
    if (Object.hasOwn(renamed, key)) return null;
    renamed[key] = value;
    if (network) sent[network] = name;
  }
  return { body: { ...(body as object), eligibility_check_data: { ...data, click_to_pay: renamed } }, sent };
}

function fieldOf(value: unknown, name: string): Record<string, unknown> | undefined {
  const field = typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[name] : undefined;
  return typeof field === 'object' && field !== null && !Array.isArray(field)
    ? (field as Record<string, unknown>)
    : undefined;
}
