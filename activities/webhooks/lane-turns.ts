import type { DeliveryRecord } from '../../storage/webhooks/deliveries.js';
import type { QueueHead } from '../../storage/webhooks/lane-queue.js';
import type { LaneReader } from './lane-reader.js';
import type { OrganisationLoad, ReceiverLoad } from './receiver-load.js';

export interface Choice {
  /** Deliveries that are due and whose receivers have room. */
  chosen: DeliveryRecord[];
  /** Places reserved for them, by receiver. The caller uses or frees them. */
  reserved: Map<string, { org: string; places: number }>;
  /** Whether more deliveries are due, or may be. */
  blocked: boolean;
  /** When the first delivery is due that is not due yet; null when there is none. */
  nextDue: Date | null;
}

/** When each organisation and each receiver had its latest turn. */
export interface LaneTurns {
  latest: number;
  organisations: Map<string, number>;
  receivers: Map<string, number>;
}

export const noTurns = (): LaneTurns => ({ latest: 0, organisations: new Map(), receivers: new Map() });

/** Up to so many receivers get several deliveries at a time. With more of them, one for each is enough. */
const FEW_RECEIVERS = 16;

/**
 * Chooses the deliveries of a lane that are attempted next: organisations take turns, and the receivers of each. An
 * organisation with many receivers has no more turns than the others.
 * @param places attempts that the lane may start
 * @param turns updated
 */
export async function chooseDue({
  reader,
  load,
  organisations,
  now,
  places,
  turns,
}: {
  reader: Pick<LaneReader, 'heads' | 'holds' | 'take' | 'read'>;
  load: Pick<ReceiverLoad, 'free' | 'hasRoom' | 'reserve'>;
  organisations: OrganisationLoad;
  now: Date;
  places: number;
  turns: LaneTurns;
}): Promise<Choice> {
  const heads = await reader.heads(now);
  const choice: Choice = { chosen: [], reserved: new Map(), blocked: false, nextDue: null };
  const due = heads.filter(({ due }) => due <= now);
  for (const { due } of heads) {
    if (due > now && (choice.nextDue === null || due < choice.nextDue)) choice.nextDue = due;
  }
  forgetAbsent(turns, due);

  const open = inTurn(
    due.filter(({ receiver }) => load.hasRoom(receiver)),
    turns,
  );
  const first = new Map([...open.values()].flat().map(({ receiver, delivery }) => [receiver, delivery]));
  choice.blocked = first.size < due.length;
  turns.latest += 1;
  const share = Math.ceil(places / Math.max(1, open.size));
  for (const [org, receivers] of open) {
    let left = Math.min(share, organisations.room(org));
    const each = receivers.length * open.size > FEW_RECEIVERS ? 1 : Math.ceil(left / receivers.length);
    for (const { receiver } of receivers) {
      const wanted = Math.min(each, left, places);
      const reserved = load.reserve(receiver, wanted);
      if (reserved < wanted || wanted === 0) choice.blocked = true;
      if (reserved === 0) continue;
      left -= reserved;
      places -= reserved;
      organisations.add(org, reserved);
      choice.reserved.set(receiver, { org, places: reserved });
      turns.receivers.set(receiver, turns.latest);
      turns.organisations.set(org, turns.latest);
    }
  }
  try {
    const isHead = (receiver: string, wanted: number) => wanted === 1 && !reader.holds(receiver);
    const single = [...choice.reserved].filter(([receiver, { places: wanted }]) => isHead(receiver, wanted));
    const several = [...choice.reserved].filter(([receiver, { places: wanted }]) => !isHead(receiver, wanted));
    const [firsts, ...lists] = await Promise.all([
      reader.read(single.map(([receiver]) => first.get(receiver)!)),
      ...several.map(([receiver, { places: wanted }]) => reader.take(receiver, wanted, now)),
    ]);
    choice.chosen = [...firsts, ...lists.flatMap(({ taken }) => taken)];
    if (single.length > 0 || lists.some(({ more }) => more)) choice.blocked = true;
  } catch (error) {
    for (const [receiver, { org, places: unused }] of choice.reserved) {
      load.free(receiver, unused);
      organisations.add(org, -unused);
    }
    throw error;
  }
  return choice;
}

/** @returns the receivers by organisation, those first that have waited longest for a turn */
function inTurn(heads: readonly QueueHead[], turns: LaneTurns): Map<string, QueueHead[]> {
  const byTurn = (turn: ReadonlyMap<string, number>) => (a: string, b: string) =>
    (turn.get(a) ?? 0) - (turn.get(b) ?? 0);
  const organisations = new Map<string, QueueHead[]>();
  for (const head of heads) {
    const receivers = organisations.get(head.org);
    if (receivers) receivers.push(head);
    else organisations.set(head.org, [head]);
  }
  const compare = byTurn(turns.receivers);
  for (const receivers of organisations.values()) receivers.sort((a, b) => compare(a.receiver, b.receiver));
  return new Map([...organisations].sort(([a], [b]) => byTurn(turns.organisations)(a, b)));
}

function forgetAbsent(turns: LaneTurns, due: readonly QueueHead[]): void {
  const receivers = new Set(due.map(({ receiver }) => receiver));
  for (const receiver of turns.receivers.keys()) if (!receivers.has(receiver)) turns.receivers.delete(receiver);
  const organisations = new Set(due.map(({ org }) => org));
  for (const org of turns.organisations.keys()) if (!organisations.has(org)) turns.organisations.delete(org);
}
