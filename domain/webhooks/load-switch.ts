import { createRateMeter } from '../rate-meter.js';

/**
 * Decides which new deliveries have a workflow from the start.
 * @param count the new deliveries of one transaction
 * @returns for each whether it has a workflow
 */
export type LoadSwitch = (count: number) => boolean[];

/**
 * A workflow costs far more than an attempt. So at low load each delivery has a workflow from the start, and under load the
 * first attempts are made without; a delivery that fails gets its workflow then.
 * @param perSecond new deliveries of this process in a second that have a workflow
 * @param perTransaction when one transaction adds more deliveries, none of them has a workflow
 */
export function createLoadSwitch({ perSecond = 15, perTransaction = 10 } = {}): LoadSwitch {
  const tooMany = createRateMeter(perSecond, () => performance.now());
  return (count) => Array.from({ length: count }, () => !tooMany() && count <= perTransaction);
}
