import { OPERATOR_VIEWS, viewUrl } from '../domain/operator-views.js';
import { SEARCH_ATTRIBUTE_TYPES } from '../domain/search-attributes.js';
import { registerSearchAttributes } from '../temporal/connection.js';
import { withTemporal } from './connections.js';
import { readDevelopmentFile, runningSettings } from './data-folder.js';

interface Options {
  /** Address of Temporal's UI; that of the running instance when absent. */
  ui?: string;
  /** Print JSON. */
  json?: boolean;
}

/**
 * `postback operators setup`: registers the search attributes that are missing, and prints a link for each view of the work.
 * Temporal's UI keeps views in the browser, so nobody can create them for others: opening a link saves its view.
 */
export async function setUpOperators({ ui, json }: Options): Promise<void> {
  const config = runningSettings(process.env);
  const { TEMPORAL_NAMESPACE: namespace } = config;
  const { allowed, mistyped } = await withTemporal(config, (client) => registerSearchAttributes(client, namespace));
  const base = ui ?? readDevelopmentFile(config.POSTBACK_DATA_DIR)?.temporal_ui_url ?? null;
  const views = OPERATOR_VIEWS.map((view) => ({ ...view, url: base && viewUrl(base, namespace, view) }));
  if (!allowed || mistyped.length > 0) process.exitCode = 1;
  if (json) {
    console.log(JSON.stringify({ namespace, search_attributes: { allowed, mistyped }, views }, null, 2));
    return;
  }
  console.log(describeAttributes(allowed, mistyped));
  console.log(
    base
      ? '\nOpen a link to see the list. The UI keeps it in this browser as a saved view; open each once.'
      : "\nFilters for the list of workflows. With --ui <address> of Temporal's UI this prints links.",
  );
  for (const { name, query, shows, url } of views) console.log(`\n${name}: ${shows}\n  ${url ?? query}`);
}

function describeAttributes(allowed: boolean, mistyped: readonly string[]): string {
  if (!allowed) {
    const needed = Object.entries(SEARCH_ATTRIBUTE_TYPES).map(([name, type]) => `  ${name} ${type}`);
    return `This account may not register search attributes. An operator must register:\n${needed.join('\n')}`;
  }
  if (mistyped.length === 0)
    return `All ${Object.keys(SEARCH_ATTRIBUTE_TYPES).length} search attributes are registered.`;
  return `Search attributes have another type: ${mistyped.join(', ')}. Remove them (temporal operator search-attribute remove) and run this again.`;
}
