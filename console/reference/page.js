/**
 * The page at `/docs`: Swagger UI with the samples of each operation, and with the keys of this tab.
 */
// @ts-expect-error The bundle of Swagger UI comes before this script, and has no types.
const bundle = SwaggerUIBundle;

/** The keys that the console keeps in this tab, by security scheme. */
const SESSION_KEYS = /** @type {Record<string, string[]>} */ ({
  api_key: ['postback.key.api'],
  crew_key: ['postback.key.crew'],
  organisation_key: ['postback.key.api', 'postback.key.crew'],
  payment_key: ['postback.key.payment'],
});

/** Keys that were pasted here. They stay in the tab too, until the console signs out. @param {string} scheme */
const pastedName = (scheme) => `postback.docs.key.${scheme}`;

/** @param {string} scheme @returns {string | undefined} */
function keyFor(scheme) {
  const names = [pastedName(scheme), ...(SESSION_KEYS[scheme] ?? [])];
  return names.map((name) => sessionStorage.getItem(name)).find((key) => key !== null) ?? undefined;
}

function authorizeFromSession() {
  const schemes = Object.keys(SESSION_KEYS).filter((scheme) => keyFor(scheme) !== undefined);
  for (const scheme of schemes) ui.preauthorizeApiKey(scheme, keyFor(scheme));
  describeSession(schemes.length);
}

/** @param {number} keys */
function describeSession(keys) {
  const place = document.querySelector('#session');
  if (!place) return;
  place.textContent =
    keys > 0
      ? 'Requests from this page carry the keys of this tab. "Authorize" changes them.'
      : 'To send requests from this page, paste a key under "Authorize", or sign in at the console in this tab. Keys stay in the tab.';
}

const keepPastedKeys = {
  statePlugins: {
    auth: {
      wrapActions: {
        /** @param {(payload: Record<string, { value: unknown }>) => unknown} authorize */
        authorize: (authorize) => (/** @type {Record<string, { value: unknown }>} */ payload) => {
          for (const [scheme, { value }] of Object.entries(payload)) {
            if (typeof value === 'string' && value !== keyFor(scheme))
              sessionStorage.setItem(pastedName(scheme), value);
          }
          const result = authorize(payload);
          if (payload.api_key && keyFor('organisation_key') === undefined) {
            ui.preauthorizeApiKey('organisation_key', payload.api_key.value);
          }
          describeSession(1);
          return result;
        },
        /** @param {(schemes: string[]) => unknown} logout */
        logout: (logout) => (/** @type {string[]} */ schemes) => {
          for (const scheme of schemes) sessionStorage.removeItem(pastedName(scheme));
          return logout(schemes);
        },
      },
    },
  },
};

const LANGUAGE = 'postback.docs.language';

/** Shows the samples of an operation above its responses. @param {any} system */
function codeSamples({ React, specSelectors }) {
  const h = React.createElement;

  /** @param {{ samples: { label: string, source: string }[] }} props */
  function Samples({ samples }) {
    const [label, setLabel] = React.useState(sessionStorage.getItem(LANGUAGE) ?? 'curl');
    const shown = samples.find((sample) => sample.label === label) ?? samples[0];
    if (!shown) return null;
    const choose = (/** @type {string} */ name) => {
      sessionStorage.setItem(LANGUAGE, name);
      setLabel(name);
    };
    return h(
      'section',
      { className: 'samples', 'aria-label': 'Samples' },
      h(
        'div',
        { className: 'samples-bar' },
        h('h4', null, 'Sample'),
        samples.map((sample) =>
          h(
            'button',
            {
              key: sample.label,
              type: 'button',
              'aria-pressed': sample === shown,
              onClick: () => choose(sample.label),
            },
            sample.label,
          ),
        ),
        h(
          'button',
          { type: 'button', className: 'copy', onClick: () => navigator.clipboard?.writeText(shown.source) },
          'Copy',
        ),
      ),
      h('pre', { tabIndex: 0 }, h('code', null, shown.source)),
    );
  }

  return {
    wrapComponents: {
      /** @param {unknown} Responses */
      responses: (Responses) => (/** @type {any} */ props) => {
        const found = specSelectors.specJson().getIn(['paths', props.path, props.method, 'x-codeSamples']);
        return h(React.Fragment, null, found ? h(Samples, { samples: found.toJS() }) : null, h(Responses, props));
      },
    },
  };
}

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
  plugins: [codeSamples, () => keepPastedKeys],
  onComplete: authorizeFromSession,
  /** Without `Accept`, a stream of events ends by itself. @param {any} request */
  requestInterceptor(request) {
    if (new URL(request.url, location.origin).pathname === '/events') delete request.headers.Accept;
    return request;
  },
});
