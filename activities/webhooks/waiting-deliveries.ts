import type { DeliveryRef } from '../../domain/webhooks/workflow-contract.js';

/**
 * Deliveries that wait in this process until their receiver has room. They start in the order of their arrival. Temporal
 * only asks for them in case this process dies.
 */
export interface WaitingDeliveries {
  /**
   * Adds a delivery; it keeps its place when it waits already.
   * @returns milliseconds until Temporal should ask again
   */
  add(receiver: string, delivery: DeliveryRef): number;
  /** Removes and returns the delivery that has waited longest for this receiver. */
  next(receiver: string): DeliveryRef | undefined;
  remove(receiver: string, delivery: string): void;
  clear(): void;
}

interface Line {
  /** By id, in the order of their arrival. */
  deliveries: Map<string, DeliveryRef>;
  /** When Temporal asks for the last of them, on the process's clock. */
  lastAsked: number;
}

/** Temporal asks for the deliveries of one receiver one after the other, with this pause, however many they are. */
const PAUSE_MS = 1_000;
/** A receiver that is only busy for a moment has room again by then. */
const SHORTEST_WAIT_MS = 2_000;

/** @param clock milliseconds */
export function createWaitingDeliveries(clock = () => performance.now()): WaitingDeliveries {
  const lines = new Map<string, Line>();
  return {
    add(receiver, delivery) {
      const now = clock();
      const line = lines.get(receiver) ?? addLine(receiver, now);
      if (!line.deliveries.has(delivery.delivery)) line.deliveries.set(delivery.delivery, delivery);
      line.lastAsked = Math.max(now + SHORTEST_WAIT_MS, line.lastAsked + PAUSE_MS);
      return Math.round(line.lastAsked - now);
    },
    next(receiver) {
      const delivery = lines.get(receiver)?.deliveries.values().next().value;
      if (delivery !== undefined) this.remove(receiver, delivery.delivery);
      return delivery;
    },
    remove(receiver, delivery) {
      lines.get(receiver)?.deliveries.delete(delivery);
    },
    clear: () => lines.clear(),
  };

  function addLine(receiver: string, now: number): Line {
    for (const [key, { deliveries, lastAsked }] of lines)
      if (deliveries.size === 0 && lastAsked < now) lines.delete(key);
    const line = { deliveries: new Map<string, DeliveryRef>(), lastAsked: 0 };
    lines.set(receiver, line);
    return line;
  }
}
