/**
 * The page at `/docs`: Swagger UI with the samples of each operation, and with the keys of this tab.
 */
import './first-call.js';
import { forgetPasted, keepPasted, keyFor, schemesWithKey } from './keys.js';
import { codeSamples, parts } from './plugins.js';

// @ts-expect-error The bundle of Swagger UI comes before this script, and has no types.
const bundle = SwaggerUIBundle;

function authorizeFromSession() {
  for (const scheme of schemesWithKey()) ui.preauthorizeApiKey(scheme, keyFor(scheme));
}

const keepPastedKeys = {
  statePlugins: {
    auth: {
      wrapActions: {
        /** @param {(payload: Record<string, { value: unknown }>) => unknown} authorize */
        authorize: (authorize) => (/** @type {Record<string, { value: unknown }>} */ payload) => {
          for (const [scheme, { value }] of Object.entries(payload)) {
            if (typeof value === 'string') keepPasted(scheme, value);
          }
          const result = authorize(payload);
          if (payload.api_key && keyFor('organisation_key') === undefined) {
            ui.preauthorizeApiKey('organisation_key', payload.api_key.value);
          }
          return result;
        },
        /** @param {(schemes: string[]) => unknown} logout */
        logout: (logout) => (/** @type {string[]} */ schemes) => {
          forgetPasted(schemes);
          return logout(schemes);
        },
      },
    },
  },
};

for (const place of document.querySelectorAll('.origin')) place.textContent = location.origin;

const ui = bundle({
  url: '/openapi.json',
  dom_id: '#docs',
  deepLinking: true,
  defaultModelsExpandDepth: -1,
  docExpansion: 'list',
  displayRequestDuration: true,
  filter: true,
  // No request goes to another host.
  validatorUrl: null,
  persistAuthorization: false,
  plugins: [codeSamples, parts, () => keepPastedKeys],
  onComplete: authorizeFromSession,
  /** Without `Accept`, a stream of events ends by itself. @param {any} request */
  requestInterceptor(request) {
    if (new URL(request.url, location.origin).pathname === '/events') delete request.headers.Accept;
    return request;
  },
});
