import { setTimeout as wait } from 'node:timers/promises';
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

const KINDS = ['kill', 'freeze'] as const;
export type FaultKind = (typeof KINDS)[number];

/** The shortest freeze, in seconds. */
const MIN_FREEZE = 3;
/** Quiet seconds between two faults. */
const PAUSE = [1, 6] as const;
/** A killed process does not look dead at once to those that ask it. */
const DEATH_MS = 10_000;

export interface FaultLog {
  events: FaultEvent[];
  violations: string[];
  /** Whether a fault was in effect between these times, or shortly before. */
  duringFault(from: number, until: number): boolean;
  /** The last fault in effect between these times, or shortly before. */
  causeOf(from: number, until: number): string | undefined;
}

/** What an interrupted request, and work that is repeated, can still feel of a fault that is over. */
const AFTER_EFFECT_MS = 30_000;

export function createFaultLog(): FaultLog {
  const events: FaultEvent[] = [];
  const causeOf = (from: number, until: number) => {
    const cause = events.findLast((event) => event.from <= until && event.until + AFTER_EFFECT_MS >= from);
    return cause && `${cause.kind} ${cause.part}`;
  };
  return { events, violations: [], duringFault: (from, until) => causeOf(from, until) !== undefined, causeOf };
}

/**
 * Kills and freezes every part in turn, in an order that the seed decides, and then again, until the time is over. A fault
 * that has begun is ended.
 * @param maxFreezeSeconds how long a frozen process may stay frozen
 */
export async function injectFaults(
  parts: readonly Part[],
  random: Random,
  until: number,
  { events, violations }: FaultLog,
  maxFreezeSeconds: number,
): Promise<void> {
  const faults = parts.flatMap((part) => KINDS.map((kind) => ({ part, kind })));
  while (Date.now() < until) {
    for (const { part, kind } of random.shuffled(faults)) {
      const pause = random.between(...PAUSE) * 1_000;
      const lasts = kind === 'kill' ? 0 : random.between(MIN_FREEZE, maxFreezeSeconds) * 1_000;
      await wait(Math.max(0, Math.min(pause, until - Date.now())));
      if (Date.now() >= until) return;
      const event: FaultEvent = { part: part.name, kind, from: Date.now(), until: Number.POSITIVE_INFINITY };
      events.push(event);
      console.log(`${time(event.from)}  ${kind} ${part.name}${lasts > 0 ? ` for ${(lasts / 1000).toFixed(0)} s` : ''}`);
      await inject(part, kind, lasts);
      if (!(await becomesWell(part))) violations.push(`${part.name} did not recover after: ${kind}`);
      event.until = Date.now();
    }
  }
}

async function inject(part: Part, kind: FaultKind, lastsMs: number): Promise<void> {
  if (kind === 'kill') {
    const killed = part.pid();
    signal(killed, 'SIGKILL');
    const deadline = Date.now() + DEATH_MS;
    while (part.pid() === killed && Date.now() < deadline) await wait(50);
  } else {
    const frozen = part.pid();
    signal(frozen, 'SIGSTOP');
    await wait(lastsMs);
    signal(frozen, 'SIGCONT');
  }
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
