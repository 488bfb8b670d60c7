import { html } from '../html.js';

/**
 * The JSON Schema of a setting, as `GET /v3/ai/models` has it.
 * @typedef {{ type?: string, enum?: string[], default?: unknown, minimum?: number, maximum?: number, description?: string, examples?: string[] }} Setting
 */

/** Fields of an input that are not settings. */
const MATERIAL = ['file', 'text', 'messages'];

/** @param {{ input: Record<string, any> }} model @returns {[name: string, setting: Setting, isRequired: boolean][]} */
export const settingsOf = ({ input }) =>
  Object.entries(input.properties ?? {})
    .filter(([name]) => !MATERIAL.includes(name))
    .map(([name, setting]) => [name, setting, (input.required ?? []).includes(name)]);

/**
 * The settings that were given, with numbers as numbers.
 * @param {{ input: Record<string, any> }} model
 * @param {Record<string, string>} values
 */
export function givenSettings(model, values) {
  const given = settingsOf(model).flatMap(([name, { type }]) => {
    const value = (values[name] ?? '').trim();
    return value === '' ? [] : [[name, type === 'integer' || type === 'number' ? Number(value) : value]];
  });
  return Object.fromEntries(given);
}

/** @param {{ model: { input: Record<string, any> }, values: Record<string, string>, onChange: (values: Record<string, string>) => void }} props */
export function SettingsFields({ model, values, onChange }) {
  const settings = settingsOf(model);
  if (settings.length === 0) return null;
  return html`
    <div class="filters">
      ${settings.map(([name, setting, isRequired]) => {
        /** @param {any} event */
        const set = (event) => onChange({ ...values, [name]: event.target.value });
        return html`
          <label class="field" title=${setting.description}>
            <span>${name.replaceAll('_', ' ')}${isRequired ? '' : ', optional'}</span>
            <${SettingControl} setting=${setting} isRequired=${isRequired} value=${values[name] ?? ''} set=${set} />
          </label>
        `;
      })}
    </div>
  `;
}

/** @param {{ setting: Setting, isRequired: boolean, value: string, set: (event: unknown) => void }} props */
function SettingControl({ setting, isRequired, value, set }) {
  const { type, minimum, maximum, examples } = setting;
  const usual = setting.default === undefined ? '' : String(setting.default);
  if (setting.enum) {
    return html`<select value=${value || usual} onChange=${set}>${setting.enum.map((option) => html`<option value=${option} selected=${option === (value || usual)}>${option}</option>`)}</select>`;
  }
  if (type === 'integer' || type === 'number') {
    const step = type === 'integer' ? 1 : 'any';
    return html`<input type="number" min=${minimum} max=${maximum} step=${step} value=${value} placeholder=${usual} required=${isRequired} onInput=${set} />`;
  }
  return html`<input value=${value} placeholder=${usual || examples?.join(', ')} required=${isRequired} onInput=${set} />`;
}
