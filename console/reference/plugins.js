const LANGUAGE = 'postback.docs.language';

/** A plugin of Swagger UI that shows the samples of an operation above its responses. @param {any} system */
export function codeSamples({ React, specSelectors }) {
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

/** A plugin of Swagger UI: parts that it shows in another way here. @param {any} system */
export function parts({ React, getComponent, specSelectors }) {
  const h = React.createElement;
  return {
    wrapComponents: {
      /** The page says above what the API is, so the document's title is not repeated. */
      InfoContainer: () => () => {
        const Markdown = getComponent('Markdown', true);
        const info = specSelectors.info();
        return h(
          'section',
          { className: 'routes', 'aria-label': 'Every route' },
          h('h2', null, 'Every route'),
          h(Markdown, { source: info.get('description') }),
          h('p', null, h('a', { href: '/openapi.json' }, 'OpenAPI document'), ` of version ${info.get('version')}`),
        );
      },
      FilterContainer: (/** @type {any} */ FilterContainer) => (/** @type {any} */ props) =>
        h('section', { 'aria-label': 'Filter' }, h(FilterContainer, props)),
      /** A link within a button cannot be reached by keyboard. The address still follows what is opened. */
      DeepLink:
        () =>
        (/** @type {any} */ { children, text }) =>
          h('span', null, children ?? text),
    },
  };
}
