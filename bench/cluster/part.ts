import { setTimeout as wait } from 'node:timers/promises';

/** A process of the cluster that faults can hit. */
export interface Part {
  name: string;
  /** Of the process that runs now. It changes when the process is killed and started again. */
  pid(): number;
  /** Whether it does its work again after a fault. */
  isWell(): Promise<boolean>;
  /** The name of the link that the others reach it by; absent when no proxy is between them. */
  link?: string | undefined;
}

/** How long a part may take to do its work again. */
const RECOVERY_MS = 90_000;

/** @returns whether the part does its work within the time limit */
export async function becomesWell(part: Part): Promise<boolean> {
  const deadline = Date.now() + RECOVERY_MS;
  while (Date.now() < deadline) {
    if (await part.isWell().catch(() => false)) return true;
    await wait(250);
  }
  return false;
}

/** How long a probe waits for its response. */
const PROBE_MS = 2_000;

/** @returns whether the address answers with a success */
export async function answers(url: string): Promise<boolean> {
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(PROBE_MS) });
    await response.body?.cancel();
    return response.ok;
  } catch {
    return false;
  }
}
