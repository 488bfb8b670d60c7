import { type ConnectorSchedule, intervalOf } from '../domain/connectors.js';
import type { Launcher } from './launcher.js';

/** A connector as far as Temporal is concerned; a `ConnectorRecord` has it all. */
export interface SettlableConnector {
  _id: string;
  org: string;
  kind: string;
  database: string;
  schedule: ConnectorSchedule;
  deleted_at: Date | null;
}

/** Tells Temporal how a connector stands: its schedule, or that it is gone and to be cleared away. May be repeated. */
export async function settleConnector(launcher: Launcher, connector: SettlableConnector): Promise<void> {
  const { schedule, deleted_at } = connector;
  if (deleted_at === null) {
    await launcher.connectorSchedules.put({ ...connector, intervalMs: intervalOf(schedule), paused: schedule.paused });
    return;
  }
  await launcher.connectorSchedules.remove(connector);
  await launcher.startConnectorRemoval(connector);
}
