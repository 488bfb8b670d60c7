import { setTimeout as wait } from 'node:timers/promises';

/** A process of the cluster that faults can hit. */
export interface Part {
  name: string;
  /** Of the process that runs now. It changes when the process is killed and started again. */
  pid(): number;
  /** Whether it does its work again after a fault. */
  isWell(): Promise<boolean>;
  /** Resolves with the reason when the part cannot be kept running; absent when it is always started again. */
  failed?: Promise<string>;
  /** The name of the link that the others reach it by; absent when no proxy is between them. */
  link?: string | undefined;
}

/**
 * After that a part counts as gone. Nothing is concluded from how long a part takes to return, because that depends on the
 * machine: Java alone may take two minutes to start on busy cores.
 */
const GONE_MS = 10 * 60_000;

/** Waits until the part does its work. @returns false when it cannot be kept running, or stays away */
export async function becomesWell(part: Part): Promise<boolean> {
  const deadline = Date.now() + GONE_MS;
  let hasFailed = false;
  void part.failed?.then(() => {
    hasFailed = true;
  });
  while (!hasFailed && Date.now() < deadline) {
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
