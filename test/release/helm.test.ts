import { execFileSync, spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { Ajv } from 'ajv';
import { parse, parseAllDocuments } from 'yaml';
import { FILE_QUEUE, GROUP_QUEUE } from '../../domain/content/workflow-contract.js';
import { TASK_QUEUES } from '../../domain/workflow-contract.js';
import { readConfig, settingsSchema } from '../../runtime/config.js';
import { runCommand } from '../support/command.js';
import { pythonEnvironmentWith } from '../support/python.js';

const CHART = join('ops', 'helm', 'postback');
const HELM = process.env.HELM ?? 'helm';
const hasHelm = spawnSync(HELM, ['version']).status === 0;
/** Read by libraries, and not by our own settings. */
const FOREIGN = ['AWS_ACCESS_KEY_ID', 'AWS_SECRET_ACCESS_KEY', 'MALLOC_TRIM_THRESHOLD_'];
/** A version whose schemas are in the package of PyPI. */
const KUBERNETES = '1.33.0';

const values = parse(readFileSync(join(CHART, 'values.yaml'), 'utf8')) as {
  settings: object;
  secrets: object;
  workers: Record<string, object>;
};
const templates = Object.fromEntries(
  readdirSync(join(CHART, 'templates')).map((name) => [name, readFileSync(join(CHART, 'templates', name), 'utf8')]),
);

describe('the Helm chart', () => {
  test('its values follow their schema, which rejects unknown names', () => {
    const validate = new Ajv({ allowUnionTypes: true }).compile(
      JSON.parse(readFileSync(join(CHART, 'values.schema.json'), 'utf8')),
    );
    validate(values);
    expect(validate.errors ?? []).toEqual([]);
    expect(validate({ ...values, replicas: 3 })).toBe(false);
    expect(validate({ ...values, settings: { 'log-level': 'info' } })).toBe(false);
  });

  test('names existing settings only', () => {
    const known = [...Object.keys(settingsSchema.shape), ...FOREIGN];
    const text = [...Object.values(templates), readFileSync(join(CHART, 'values.yaml'), 'utf8')].join('\n');
    const named = text.match(/\b(?:POSTBACK|TEMPORAL|MONGODB|AWS|OUTBOUND|LOG|MALLOC)_[A-Z_]+/g) ?? [];
    expect(named.length).toBeGreaterThan(30);
    expect(named.filter((name) => !known.includes(name))).toEqual([]);
  });

  test('runs workers for every task queue', () => {
    expect(Object.keys(values.workers)).toEqual([...TASK_QUEUES]);
  });

  test('runs existing commands', async () => {
    const commands = Object.values(templates).flatMap((template) =>
      [...template.matchAll(/bin\/postback\.mjs, ([a-z]+)/g)].map(([, command]) => command!),
    );
    expect(new Set(commands)).toEqual(new Set(['api', 'worker', 'embedder']));
    for (const command of commands) {
      const { out } = await runCommand([command, '--help'], {});
      expect(out).toMatch(new RegExp(`^Usage: postback ${command}\\b`));
    }
  });
});

interface Manifest {
  kind: string;
  metadata: { name: string; annotations?: Record<string, string> };
  data?: Record<string, string>;
  spec: {
    egress?: { ports?: unknown[]; to?: unknown[] }[];
    podMetricsEndpoints?: { relabelings?: { targetLabel: string; replacement: string }[] }[];
    template: {
      spec: {
        enableServiceLinks?: boolean;
        containers: { command?: string[]; env?: { name: string; value?: string }[]; envFrom?: unknown[] }[];
      };
    };
    triggers?: { metadata: { taskQueue: string } }[];
  };
}

/** Values that switch everything on. */
const EVERYTHING = [
  'api.autoscaling.enabled=true',
  'api.ingress.enabled=true',
  'api.ingress.className=nginx',
  'api.ingress.tlsSecret=postback-tls',
  'settings.POSTBACK_TRUSTED_PROXIES=10.0.0.0/8',
  ...TASK_QUEUES.map((queue) => `workers.${queue}.autoscaling.enabled=true`),
  'temporal.tlsSecret=temporal-tls',
  'crews.support=crew-support',
  'podMonitor.enabled=true',
  'podMonitor.labels.release=prometheus',
  'podAnnotations.team=platform',
  'secrets.POSTBACK_OPENAI_KEY.name=postback',
  'secrets.POSTBACK_OPENAI_KEY.key=openai-key',
  'secrets.POSTBACK_SEARCH_URL.name=postback',
  'secrets.POSTBACK_SEARCH_URL.key=search-url',
];
const describeWithHelm = hasHelm ? describe : describe.skip;

// Skipped without Helm: `go install helm.sh/helm/v3/cmd/helm@v3.22.0` installs it, and HELM names it.
describeWithHelm('the Helm chart, rendered', () => {
  const render = (settings: string[]) =>
    execFileSync(
      HELM,
      ['template', 'production', CHART, '--kube-version', KUBERNETES, ...settings.flatMap((each) => ['--set', each])],
      { encoding: 'utf8' },
    );
  const manifests = (text: string) =>
    parseAllDocuments(text)
      .map((document) => document.toJS() as Manifest | null)
      .filter((manifest) => manifest !== null);
  let plain: string;
  let everything: string;
  beforeAll(() => {
    plain = render([]);
    everything = render(EVERYTHING);
  });

  test('refuses an ingress whose proxy is not named: all clients would have one address', () => {
    expect(() => render(['api.ingress.enabled=true'])).toThrow(/POSTBACK_TRUSTED_PROXIES is required/);
  });

  test('names the image by its digest when there is one', () => {
    const digest = `sha256:${'a'.repeat(64)}`;
    const images = render([`image.digest=${digest}`])
      .match(/^ *image: .*/gm)!
      .map((line) => line.trim());
    expect(new Set(images)).toEqual(new Set([`image: "postback@${digest}"`]));
    expect(() => render(['image.digest=sha256:short'])).toThrow(/digest/);
  });

  test('passes helm lint', () => {
    const { status, stdout } = spawnSync(HELM, ['lint', '--strict', CHART], { encoding: 'utf8' });
    expect([status, stdout]).toEqual([0, expect.stringContaining('0 chart(s) failed')]);
  });

  test('follows the schemas of Kubernetes', () => {
    const env = pythonEnvironmentWith('kubernetes_validate', { withDependencies: true });
    if (env === null) return void console.warn('skipped: the package kubernetes-validate of PyPI cannot be installed');
    const script = `
import sys, yaml, kubernetes_validate
for document in yaml.safe_load_all(sys.stdin):
    # Kinds of operators have no schema here.
    if document and document['apiVersion'].split('/')[0] not in ('keda.sh', 'monitoring.coreos.com'):
        kubernetes_validate.validate(document, '${KUBERNETES}', strict=True)
`;
    for (const input of [plain, everything]) {
      const { status, stderr } = spawnSync('python3', ['-c', script], { env, input, encoding: 'utf8' });
      expect([status, stderr]).toEqual([0, '']);
    }
  });

  test('each process gets only the secrets that it uses', () => {
    const secretsOf = Object.fromEntries(
      manifests(everything)
        .filter(({ kind }) => kind === 'Deployment')
        .map(({ metadata, spec }) => {
          const env = spec.template.spec.containers[0]!.env ?? [];
          return [metadata.name.replace('production-', ''), env.filter(({ value }) => value === undefined)];
        }),
    );
    const users = (secret: string) =>
      Object.keys(secretsOf).filter((name) => secretsOf[name]!.some((variable) => variable.name === secret));
    expect(users('POSTBACK_SEALING_KEY')).toEqual(['api', 'worker-connectors', 'worker-deliveries']);
    // Workers for content read the graph of items with it.
    expect(users('POSTBACK_OPENAI_KEY')).toEqual(['worker-ai', 'worker-content', 'worker-crews']);
    expect(users('POSTBACK_SEARCH_URL')).toEqual(['api', 'worker-content', 'worker-control', 'worker-crews']);
    expect(secretsOf.embedder).toEqual([]);
    expect(users('MONGODB_URI')).toEqual(['api', ...TASK_QUEUES.map((queue) => `worker-${queue}`).sort()]);
  });

  test('every process can read the variables of its pod, whatever Kubernetes calls the services', () => {
    const all = manifests(everything);
    const shared = all.find(({ kind }) => kind === 'ConfigMap')!.data!;
    const pods = all.filter(({ kind }) => ['Deployment', 'Job'].includes(kind)).map(({ spec }) => spec.template.spec);
    expect(pods).toHaveLength(3 + TASK_QUEUES.length);
    for (const { enableServiceLinks = true, containers } of pods) {
      // Of a release named postback.
      const links = enableServiceLinks && {
        POSTBACK_API_PORT: 'tcp://10.96.1.2:80',
        POSTBACK_EMBEDDER_PORT: 'tcp://x',
      };
      const own = containers[0]!.env?.map(({ name, value = '' }) => [name, value]) ?? [];
      expect(() => readConfig({ ...links, ...shared, ...Object.fromEntries(own) })).not.toThrow();
    }
  });

  test('metrics have the names of jobs that the alerts look for', () => {
    const all = manifests(everything);
    const { podMetricsEndpoints } = all.find(({ kind }) => kind === 'PodMonitor')!.spec;
    expect(podMetricsEndpoints![0]!.relabelings).toEqual([
      {
        sourceLabels: ['__meta_kubernetes_pod_label_app_kubernetes_io_component'],
        targetLabel: 'job',
        replacement: 'postback-$1',
      },
    ]);
    expect(readFileSync(join('ops', 'prometheus', 'alerts.yml'), 'utf8')).toContain('up{job=~"postback-.*"}');
  });

  test('workers for content are scaled by all queues that they serve', () => {
    const scalers = manifests(everything).filter(({ kind }) => kind === 'ScaledObject');
    const queues = scalers.map(({ metadata, spec }) => [
      metadata.name.replace('production-worker-', ''),
      spec.triggers!.map((trigger) => trigger.metadata.taskQueue),
    ]);
    const content = ['content', GROUP_QUEUE, FILE_QUEUE];
    const expected = TASK_QUEUES.map((queue) => [queue, queue === 'content' ? content : [queue]]);
    expect(new Map(queues as [string, string[]][])).toEqual(new Map(expected as [string, string[]][]));
  });

  test('workers for content reach the stores and nothing else outside', () => {
    const egressOf = (text: string, name: string) =>
      manifests(text).find(({ kind, metadata }) => kind === 'NetworkPolicy' && metadata.name === `production-${name}`)!
        .spec.egress!;
    const open = ({ ports }: { ports?: unknown[] }) => ports === undefined;
    expect(egressOf(plain, 'worker-content').some(open)).toBe(false);
    expect(egressOf(plain, 'worker-content').at(-1)).toMatchObject({ ports: [{ port: 443 }], to: [{ ipBlock: {} }] });
    const narrowed = render(['networkPolicy.storesTo[0].ipBlock.cidr=52.216.0.0/15', 'networkPolicy.storesPort=9000']);
    expect(egressOf(narrowed, 'worker-content').at(-1)).toEqual({
      ports: [{ port: 9000, protocol: 'TCP' }],
      to: [{ ipBlock: { cidr: '52.216.0.0/15' } }],
    });
    for (const name of ['worker-deliveries', 'worker-connectors']) expect(egressOf(plain, name).some(open)).toBe(true);
  });

  test('has one policy, and one budget of disruptions, for each deployment', () => {
    const named = (text: string, kind: string) =>
      manifests(text)
        .filter((manifest) => manifest.kind === kind)
        .map(({ metadata }) => metadata.name)
        .sort();
    const deployments = named(plain, 'Deployment');
    expect(deployments).toHaveLength(2 + TASK_QUEUES.length);
    expect(named(plain, 'PodDisruptionBudget')).toEqual(deployments);
    expect(named(plain, 'NetworkPolicy')).toEqual([...deployments, 'production-promote'].sort());
    expect(named(plain, 'ScaledObject')).toEqual([]);
    expect(named(everything, 'ScaledObject')).toHaveLength(TASK_QUEUES.length);
  });

  test('a secret that is missing is named', () => {
    const without = ['--kube-version', KUBERNETES, '--set', 'secrets.POSTBACK_SEALING_KEY=null'];
    const { status, stderr } = spawnSync(HELM, ['template', CHART, ...without], { encoding: 'utf8' });
    expect(status).not.toBe(0);
    expect(stderr).toContain('secrets.POSTBACK_SEALING_KEY is required');
  });
});
