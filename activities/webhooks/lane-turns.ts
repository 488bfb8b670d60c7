import type { LaneQueue } from '../../storage/webhooks/lane-queue.js';
import type { ReceiverLoad } from './receiver-load.js';

export interface Choice {
  /** Deliveries that are due and whose receivers have room. */
  ids: string[];
  /** Places reserved for them, by receiver. The caller uses or frees them. */
  reserved: Map<string, number>;
  /** Whether more deliveries are due. */
  blocked: boolean;
  /** When the first delivery is due that is not due yet; null when there is none. */
  nextDue: Date | null;
}

/** Up to so many receivers get several deliveries at a time. With more of them, one for each is enough. */
const FEW_RECEIVERS = 16;

/**
 * Chooses the deliveries of a lane that are attempted next: receivers take turns, and each gets as many as it has room
 * for.
 * @param places attempts that the lane may start
 * @param turns when each receiver had its latest turn; updated
 */
export async function chooseDue({
  queue,
  load,
  lane,
  now,
  places,
  turns,
}: {
  queue: Pick<LaneQueue, 'heads' | 'listDue'>;
  load: Pick<ReceiverLoad, 'free' | 'hasRoom' | 'reserve'>;
  lane: number;
  now: Date;
  places: number;
  turns: Map<string, number>;
}): Promise<Choice> {
  const heads = await queue.heads(lane);
  const choice: Choice = { ids: [], reserved: new Map(), blocked: false, nextDue: null };
  const due = heads.filter(({ due }) => due <= now);
  for (const { due } of heads) {
    if (due > now && (choice.nextDue === null || due < choice.nextDue)) choice.nextDue = due;
  }
  let turn = 1;
  for (const latest of turns.values()) if (latest >= turn) turn = latest + 1;
  due.sort((a, b) => (turns.get(a.receiver) ?? 0) - (turns.get(b.receiver) ?? 0));
  const waiting = new Set(due.map(({ receiver }) => receiver));
  for (const receiver of turns.keys()) if (!waiting.has(receiver)) turns.delete(receiver);

  const open = due.filter(({ receiver }) => load.hasRoom(receiver));
  choice.blocked = open.length < due.length;
  const share = open.length > FEW_RECEIVERS ? 1 : Math.ceil(places / Math.max(1, open.length));
  for (const { receiver } of open) {
    const wanted = Math.min(share, places);
    const reserved = load.reserve(receiver, wanted);
    if (reserved < wanted || wanted === 0) choice.blocked = true;
    if (reserved === 0) continue;
    places -= reserved;
    choice.reserved.set(receiver, reserved);
    turns.set(receiver, turn);
  }
  try {
    const first = new Map(open.map(({ receiver, delivery }) => [receiver, delivery]));
    const lists = [...choice.reserved].map(([receiver, wanted]) =>
      wanted === 1 ? [first.get(receiver)!] : queue.listDue(lane, receiver, now, wanted),
    );
    choice.ids = (await Promise.all(lists)).flat();
  } catch (error) {
    for (const [receiver, reserved] of choice.reserved) load.free(receiver, reserved);
    throw error;
  }
  return choice;
}
