import type { DeliveryRecord } from '../../storage/webhooks/deliveries.js';
import type { QueueHead } from '../../storage/webhooks/delivery-queue.js';
import type { DueDeliveries } from './due-deliveries.js';
import type { SenderLoad } from './sender-load.js';

/** Deliveries that are due, with a place reserved for each. */
export interface Choice {
  chosen: DeliveryRecord[];
  /** Places reserved, by receiver. The caller uses or frees them. */
  reserved: Reservations;
  /** Whether more deliveries are due, or may be. */
  blocked: boolean;
}

export type Reservations = Map<string, { org: string; places: number }>;

/** When each organisation and each receiver had its latest turn. */
export interface Turns {
  latest: number;
  organisations: Map<string, number>;
  receivers: Map<string, number>;
}

export const noTurns = (): Turns => ({ latest: 0, organisations: new Map(), receivers: new Map() });

/** Up to so many receivers get several deliveries at a time. With more of them, one for each is enough. */
const FEW_RECEIVERS = 16;

interface ChoiceOptions {
  due: DueDeliveries;
  load: SenderLoad;
  now: Date;
  /** Attempts that may start. */
  places: number;
  /** Updated. */
  turns: Turns;
}

/**
 * Chooses the deliveries that are attempted next: organisations take turns, and the receivers of each. An organisation with many
 * receivers has no more turns than the others.
 */
export async function chooseDue({ due, load, now, places, turns }: ChoiceOptions): Promise<Choice> {
  const heads = (await due.heads(now)).filter((head) => head.due <= now);
  const reserved: Reservations = new Map();
  forgetAbsent(turns, heads);
  const open = inTurn(
    heads.filter(({ receiver }) => load.hasRoom(receiver)),
    turns,
  );
  let blocked = [...open.values()].flat().length < heads.length;
  turns.latest += 1;
  const share = Math.ceil(places / Math.max(1, open.size));
  for (const [org, receivers] of open) {
    let left = Math.min(share, load.roomOf(org));
    const each = receivers.length * open.size > FEW_RECEIVERS ? 1 : Math.ceil(left / receivers.length);
    for (const { receiver } of receivers) {
      const wanted = Math.min(each, left, places);
      const count = load.reserve(org, receiver, wanted);
      if (count < wanted || wanted === 0) blocked = true;
      if (count === 0) continue;
      left -= count;
      places -= count;
      reserved.set(receiver, { org, places: count });
      turns.receivers.set(receiver, turns.latest);
      turns.organisations.set(org, turns.latest);
    }
  }
  try {
    const { chosen, more } = await take(due, heads, reserved, now);
    return { chosen, reserved, blocked: blocked || more };
  } catch (error) {
    freeAll(load, reserved);
    throw error;
  }
}

/** Frees the reserved places that were not used. */
export function freeAll(load: SenderLoad, reserved: Reservations): void {
  for (const [receiver, { org, places }] of reserved) load.free(org, receiver, places);
}

/** Reads the deliveries for which places are reserved. */
async function take(due: DueDeliveries, heads: readonly QueueHead[], reserved: Reservations, now: Date) {
  const placesOf = ({ receiver }: QueueHead) => reserved.get(receiver)?.places ?? 0;
  const isSingle = (head: QueueHead) => placesOf(head) === 1 && !due.holds(head.receiver);
  const single = heads.filter(isSingle);
  const several = heads.filter((head) => placesOf(head) > 0 && !isSingle(head));
  const [firsts, ...lists] = await Promise.all([
    due.takeFirst(single),
    ...several.map((head) => due.take(head.receiver, placesOf(head), now)),
  ]);
  return {
    chosen: [...firsts, ...lists.flatMap(({ taken }) => taken)],
    more: single.length > 0 || lists.some(({ more }) => more),
  };
}

/** @returns the receivers by organisation, those first that have waited longest for a turn */
function inTurn(heads: readonly QueueHead[], turns: Turns): Map<string, QueueHead[]> {
  const byTurn = (turn: ReadonlyMap<string, number>) => (a: string, b: string) =>
    (turn.get(a) ?? 0) - (turn.get(b) ?? 0);
  const organisations = Map.groupBy(heads, ({ org }) => org);
  const compare = byTurn(turns.receivers);
  for (const receivers of organisations.values()) receivers.sort((a, b) => compare(a.receiver, b.receiver));
  return new Map([...organisations].sort(([a], [b]) => byTurn(turns.organisations)(a, b)));
}

function forgetAbsent(turns: Turns, due: readonly QueueHead[]): void {
  const receivers = new Set(due.map(({ receiver }) => receiver));
  for (const receiver of turns.receivers.keys()) if (!receivers.has(receiver)) turns.receivers.delete(receiver);
  const organisations = new Set(due.map(({ org }) => org));
  for (const org of turns.organisations.keys()) if (!organisations.has(org)) turns.organisations.delete(org);
}
