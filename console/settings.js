/** @typedef {{ temporal_ui: { url: string, namespace: string } | null }} Settings */

/** What this server says about itself to everyone. @returns {Promise<Settings>} */
async function loadSettings() {
  const response = await fetch('/console/settings.json').catch(() => null);
  return response?.ok ? response.json() : { temporal_ui: null };
}

export const settings = await loadSettings();

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
