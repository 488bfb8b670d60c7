import { once } from 'node:events';
import { Worker } from 'node:worker_threads';

/** The longest time for which the event loop of a process did not respond, in milliseconds. */
export interface Stall {
  /** As its clients saw it. */
  wall: number;
  /** Without the time for which its main thread and the probe waited for a processor, because others used them all. */
  net: number;
}

export type Probe = Awaited<ReturnType<typeof startProbe>>;

/**
 * Watches the event loop of a process from outside.
 * @param url responds as soon as the event loop of the process runs
 * @param pid returns the id of the process, which changes after a crash
 */
export async function startProbe(url: string, pid: () => number) {
  const thread = new Worker(new URL('./probe-thread.js', import.meta.url), { workerData: { url, pid: pid() } });
  await once(thread, 'online');
  return {
    /** @returns the longest stall since the previous call */
    async take(): Promise<Stall> {
      thread.postMessage(pid());
      const [stall] = await once(thread, 'message');
      return stall as Stall;
    },
    stop: () => thread.terminate(),
  };
}
