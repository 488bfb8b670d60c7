import type { ConnectorRecord, Connectors } from '../../storage/connectors/connectors.js';
import type { ConnectorStarters } from './starters.js';

export interface ApplyDependencies {
  connectors: Pick<Connectors, 'findAnyForOrg' | 'markApplied'>;
  starters: Pick<ConnectorStarters, 'applyConnector'>;
}

/**
 * Makes Temporal match the record of a connector. Two changes can overlap, and the call for the earlier one may come last: it then
 * applies what is stored by now.
 */
export async function applyConnector(
  { connectors, starters }: ApplyDependencies,
  connector: ConnectorRecord,
): Promise<void> {
  for (let current = connector; ; ) {
    await starters.applyConnector(current);
    if (await connectors.markApplied(current)) return;
    const stored = await connectors.findAnyForOrg(connector.org, connector._id);
    if (stored === null && current.deleted_at !== null) return;
    // Without a record, the connector was deleted. The schedule was created again, and nothing else would end it.
    current = stored ?? { ...current, deleted_at: current.updated_at };
  }
}
