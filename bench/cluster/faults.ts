import { setTimeout as wait } from 'node:timers/promises';
import { runCommand } from '../../dev-stack/run-command.js';
import { LINK_FAULTS, type LinkFault, type Links } from './links.js';
import { becomesWell, type Part } from './part.js';
import type { Random } from './random.js';

/** A fault that has begun. */
export interface FaultEvent {
  part: string;
  kind: FaultKind;
  /** Milliseconds since 1970. */
  from: number;
  /** When the part did its work again; Infinity until then. */
  until: number;
}

export type FaultKind = 'kill' | 'freeze' | LinkFault;

/** How long a fault of a link lasts, in seconds. */
const LASTS: Record<LinkFault, readonly [number, number]> = {
  partition: [5, 30],
  resets: [3, 15],
  latency: [5, 15],
  'slow link': [5, 15],
};
/** The shortest freeze, in seconds. */
const MIN_FREEZE = 3;
/** Quiet seconds between two faults. */
const PAUSE = [0.5, 4] as const;
/** A killed process does not look dead at once to those that ask it. */
const DEATH_MS = 10_000;
/** A return that is slower than this is printed. */
const SLOW_RETURN_MS = 30_000;

export interface FaultLog {
  events: FaultEvent[];
  violations: string[];
  /** Whether a fault was in effect between these times, or shortly before. */
  duringFault(from: number, until: number): boolean;
  /** The last fault in effect between these times, or shortly before, of those that can make the product send again. */
  resendCauseOf(from: number, until: number): string | undefined;
}

/** The parts that a callback passes on its way, and that record that it was sent. */
const SENDERS = /^(worker|temporal|postgres|mongod)/;

/** What an interrupted request, and work that is repeated, can still feel of a fault that is over. */
const AFTER_EFFECT_MS = 30_000;

export function createFaultLog(): FaultLog {
  const events: FaultEvent[] = [];
  const isNear = (event: FaultEvent, from: number, until: number) =>
    event.from <= until && event.until + AFTER_EFFECT_MS >= from;
  return {
    events,
    violations: [],
    duringFault: (from, until) => events.some((event) => isNear(event, from, until)),
    resendCauseOf(from, until) {
      const cause = events.findLast((event) => SENDERS.test(event.part) && isNear(event, from, until));
      return cause && `${cause.kind} ${cause.part}`;
    },
  };
}

/** A fault that is planned. */
export interface PlannedFault<Each = Part> {
  part: Each;
  kind: FaultKind;
}

/**
 * Every part in turn, in three rounds: in each round a part is killed, frozen, or has a fault of its link, in an order that
 * the random numbers decide. The links take turns with the kinds of their faults.
 * @param rounds counts from 0; decides which fault a link has
 */
export function planFaults<Each extends Pick<Part, 'link'>>(
  parts: readonly Each[],
  canLinksFail: boolean,
  random: Random,
  rounds: number,
): PlannedFault<Each>[] {
  const ofLinks = Object.keys(LINK_FAULTS) as LinkFault[];
  let turn = rounds;
  const ofParts = random.shuffled(parts).map((part) => {
    const ofLink = canLinksFail && part.link !== undefined ? [ofLinks[turn++ % ofLinks.length]!] : [];
    return random.shuffled<FaultKind>(['kill', 'freeze', ...ofLink]).map((kind) => ({ part, kind }));
  });
  return [0, 1, 2].flatMap((round) => random.shuffled(ofParts.flatMap((faults) => faults[round] ?? [])));
}

export interface FaultOptions {
  random: Random;
  /** Milliseconds since 1970: no fault begins later. */
  until: number;
  /** Every part has every kind of fault once, even if that takes longer. */
  isComplete?: boolean;
  /** How long a frozen process may stay frozen. */
  maxFreezeSeconds: number;
  print(line: string): void;
}

/**
 * Hits every part in turn with every kind of fault it can have, in an order that the seed decides, and then again, until the
 * time is over. A fault that has begun is ended.
 */
export async function injectFaults(
  { parts, links }: { parts: readonly Part[]; links: Links },
  { events, violations }: FaultLog,
  { random, until, isComplete = false, maxFreezeSeconds, print }: FaultOptions,
): Promise<void> {
  const lastsMs = (kind: FaultKind) => {
    if (kind === 'kill') return 0;
    // Most freezes are short, so that a run has many faults.
    if (kind === 'freeze') return 1_000 * (MIN_FREEZE + random.next() ** 2 * (maxFreezeSeconds - MIN_FREEZE));
    return 1_000 * random.between(...LASTS[kind]);
  };

  for (let rounds = 0; rounds === 0 || Date.now() < until; rounds++) {
    const end = isComplete && rounds === 0 ? Number.POSITIVE_INFINITY : until;
    for (const { part, kind } of planFaults(parts, links.canFail, random, rounds)) {
      const pause = random.between(...PAUSE) * 1_000;
      const lasts = lastsMs(kind);
      await wait(Math.max(0, Math.min(pause, end - Date.now())));
      if (Date.now() >= end) return;
      const event: FaultEvent = { part: part.name, kind, from: Date.now(), until: Number.POSITIVE_INFINITY };
      events.push(event);
      print(`${time(event.from)}  ${kind} ${part.name}${lasts > 0 ? ` for ${(lasts / 1000).toFixed(0)} s` : ''}`);
      await inject(part, kind, lasts, links);
      const overAt = Date.now();
      if (!(await becomesWell(part))) violations.push(`${part.name} did not recover after: ${kind}`);
      event.until = Date.now();
      if (event.until - overAt > SLOW_RETURN_MS)
        print(
          `${time(event.until)}  ${part.name} was away for another ${((event.until - overAt) / 1000).toFixed(0)} s`,
        );
    }
  }
}

async function inject(part: Part, kind: FaultKind, lastsMs: number, links: Links): Promise<void> {
  if (kind === 'kill') {
    const killed = part.pid();
    signal(killed, 'SIGKILL');
    const deadline = Date.now() + DEATH_MS;
    while (part.pid() === killed && Date.now() < deadline) await wait(50);
  } else if (kind === 'freeze') {
    // PostgreSQL works in child processes.
    const frozen = [part.pid(), ...(await childrenOf(part.pid()))];
    for (const pid of frozen) signal(pid, 'SIGSTOP');
    await wait(lastsMs);
    for (const pid of frozen) signal(pid, 'SIGCONT');
  } else {
    await links.impair(part.link!, kind);
    await wait(lastsMs);
    await links.heal(part.link!);
  }
}

async function childrenOf(pid: number): Promise<number[]> {
  // It ends with 1 when there are none.
  const listed = await runCommand('pgrep', ['-P', `${pid}`], process.env, 5_000).catch(() => '');
  return listed.split('\n').filter(Boolean).map(Number);
}

/** A process that has just ended by itself is started again like a killed one. */
function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch {
    return;
  }
}

export function time(ms: number): string {
  return new Date(ms).toISOString().slice(11, 19);
}
