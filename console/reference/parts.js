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
