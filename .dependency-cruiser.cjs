/**
 * Which layer may import which, and which service may import which. Checked on the compiled code, where type-only
 * imports are gone: a layer may know another's types without depending on it.
 */
const layers = {
  domain: ['domain'],
  storage: ['domain', 'storage'],
  providers: ['domain', 'providers'],
  temporal: ['domain', 'temporal'],
  workflows: ['domain', 'workflows'],
  activities: ['domain', 'storage', 'providers', 'temporal', 'activities'],
  worker: ['domain', 'storage', 'providers', 'temporal', 'activities', 'runtime', 'worker'],
  api: ['domain', 'storage', 'temporal', 'mcp', 'client', 'api'],
  'dev-stack': ['dev-stack', 'runtime/cache-dir', 'runtime/process-identity'],
  receiver: ['receiver'],
  client: ['client'],
  mcp: ['client', 'mcp'],
};

/** A process puts its parts together from every layer. */
const ENTRY_POINTS = '^dist/(api|worker|embedder)/main[.]js$';

/** Which other services a service may use, in every layer. */
const services = {
  content: ['webhooks'],
  connectors: ['content', 'webhooks'],
  webhooks: [],
  'ai-jobs': ['webhooks'],
  crews: ['webhooks', 'content'],
  payments: ['webhooks'],
  events: ['webhooks', 'content', 'ai-jobs', 'crews'],
};
const serviceNames = Object.keys(services);

module.exports = {
  forbidden: [
    ...Object.entries(layers).map(([layer, allowed]) => ({
      name: `${layer}-imports`,
      comment: `${layer}/ may import only ${allowed.join(', ')} of this project`,
      severity: 'error',
      from: { path: `^dist/${layer}/`, pathNot: ENTRY_POINTS },
      to: { path: '^dist/', pathNot: allowed.map((path) => `^dist/${path}`) },
    })),
    ...Object.entries(services).map(([service, allowed]) => ({
      name: `${service}-uses`,
      comment: `${service} may use only ${allowed.join(', ') || 'what all services share'}`,
      severity: 'error',
      from: { path: `^dist/[a-z]+/${service}/`, pathNot: '^dist/test/' },
      to: {
        // A webhook names the status of an item: the tables of states are everybody's words.
        pathNot: '^dist/domain/[^/]+/states[.]js$',
        path: `^dist/[a-z]+/(${serviceNames.filter((name) => name !== service && !allowed.includes(name)).join('|')})/`,
      },
    })),
    { name: 'no-cycles', severity: 'error', from: { path: '^dist/' }, to: { circular: true } },
    {
      name: 'nothing-imports-tests',
      comment: 'production code must not depend on tests or benches',
      severity: 'error',
      from: { path: '^dist/', pathNot: '^dist/(test|bench|cli)/' },
      to: { path: '^dist/(test|bench|cli)/' },
    },
    {
      name: 'commands-import-no-tests',
      comment: 'the package and the image have the commands, but neither tests nor benches',
      severity: 'error',
      from: { path: '^dist/cli/' },
      to: { path: '^dist/(test|bench)/' },
    },
    {
      name: 'workflows-are-pure',
      comment: 'workflow code is replayed: no I/O, no packages but the workflow SDK',
      severity: 'error',
      from: { path: '^dist/workflows/' },
      to: {
        pathNot: [
          '^dist/workflows/',
          '^dist/domain/[^/]+/workflow-contract\\.js$',
          '^dist/domain/workflow-contract\\.js$',
          '^dist/domain/search-attributes\\.js$',
          'node_modules/@temporalio/workflow',
        ],
      },
    },
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    exclude: { path: '^dist/(workflow-bundle|receiver/examples)' },
  },
};
