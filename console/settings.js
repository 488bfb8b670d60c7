/** @typedef {{ temporal_ui: { url: string, namespace: string } | null, version: string, examples: string[] }} Settings `examples`: names of the sample files */

/** What this server says about itself to everyone. @returns {Promise<Settings | null>} null without a response */
async function loadSettings() {
  const response = await fetch('/console/settings.json', { credentials: 'omit' }).catch(() => null);
  return response?.ok ? response.json() : null;
}

export const settings = (await loadSettings()) ?? { temporal_ui: null, version: '', examples: [] };

/** Whether the server has other files of the console than this tab. */
export async function isOutdated() {
  const current = await loadSettings();
  return current !== null && settings.version !== '' && current.version !== settings.version;
}

/**
 * A list of workflows in the Temporal UI.
 * @param {Record<string, string>} attributes that the workflows have
 * @returns {string | null} null when the operator has not set its address
 */
export function workflowsLink(attributes) {
  if (!settings.temporal_ui) return null;
  const { url, namespace } = settings.temporal_ui;
  const query = Object.entries(attributes)
    .map(([name, value]) => `${name}="${value.replace(/["\\]/g, '\\$&')}"`)
    .join(' AND ');
  return `${url}/namespaces/${encodeURIComponent(namespace)}/workflows?query=${encodeURIComponent(query)}`;
}
