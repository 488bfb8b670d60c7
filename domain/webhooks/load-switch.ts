import { createRateMeter } from '../rate-meter.js';

/** Decides which new deliveries have a workflow from the start. */
export interface LoadSwitch {
  /**
   * Counts the new deliveries of one transaction.
   * @returns for each whether it has a workflow from the start
   */
  workflowsFor(count: number): boolean[];
}

export interface LoadSwitchOptions {
  /** New deliveries of this process in a second that have a workflow. */
  perSecond?: number;
  /** When one transaction adds more deliveries, none of them has a workflow. */
  perTransaction?: number;
  /** Milliseconds. */
  clock?: () => number;
}

/**
 * A workflow costs far more than an attempt. So at low load each delivery has a workflow from the start, and under load the
 * first attempts are made without; a delivery that fails gets its workflow then.
 */
export function createLoadSwitch({
  perSecond = 15,
  perTransaction = 10,
  clock = () => performance.now(),
}: LoadSwitchOptions = {}): LoadSwitch {
  const tooMany = createRateMeter(perSecond, clock);
  return {
    workflowsFor(count) {
      return Array.from({ length: count }, () => !tooMany() && count <= perTransaction);
    },
  };
}
