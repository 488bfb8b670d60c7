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
