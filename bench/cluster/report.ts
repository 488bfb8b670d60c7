import { percentile } from '../support/measure.js';
import type { Figure } from '../support/results.js';
import { findDuplicates } from './check.js';
import type { FaultLog } from './faults.js';
import type { LoadKind } from './load/kind.js';
import type { ClusterReceiver } from './receiver.js';
import type { Requests } from './requests.js';

export interface Run {
  kinds: readonly LoadKind[];
  receivers: readonly ClusterReceiver[];
  requests: Requests;
  faults: FaultLog;
  /** Milliseconds from each note of the other organisation to its webhook. */
  delays: number[];
  /** From the end of the load to the end of all work. */
  settledMs: number;
}

/** @returns what a run has done and seen, by heading */
export function figuresOf({ kinds, receivers, requests, faults, delays, settledMs }: Run): Record<string, Figure[]> {
  const callbacks = receivers.reduce((sum, { received }) => sum + received.length, 0);
  const { explained } = findDuplicates(receivers, faults);
  return {
    Faults: counts(faults.events.map(({ kind }) => kind)),
    'Accepted work': kinds.map((kind) => ({ name: kind.name, value: kind.accepted(), unit: '' })),
    Requests: [
      ...[...requests.endings].map(([ending, value]) => ({ name: `tries: ${ending}`, value, unit: '' })),
      ...spread('from the first try to the response', requests.waits, requests.slowest()),
    ],
    Callbacks: [
      { name: 'received', value: callbacks, unit: '' },
      ...[...explained].map(([cause, value]) => ({
        name: `sent again after they were accepted: ${cause}`,
        value,
        unit: '',
      })),
      ...spread('another organisation, from its note to the webhook', delays),
      { name: 'from the end of the load to the end of all work', value: settledMs / 1_000, unit: 's' },
    ],
  };
}

/** @param slowest what took longest, if it has a name */
function spread(name: string, ms: readonly number[], slowest?: string): Figure[] {
  const at = (title: string, share: number) => {
    return { name: `${name}, ${title}`, value: percentile([...ms], share) / 1_000, unit: 's' };
  };
  return [at('p50', 0.5), at('p95', 0.95), at(slowest ? `longest: ${slowest}` : 'longest', 1)];
}

function counts(names: readonly string[]): Figure[] {
  const byName = new Map<string, number>();
  for (const name of names) byName.set(name, (byName.get(name) ?? 0) + 1);
  return [...byName].map(([name, value]) => ({ name, value, unit: '' }));
}
