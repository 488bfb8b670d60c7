import type { Command } from 'commander';

const EXECUTION = '7c9e6679-7425-40de-944b-e07fc1f90ae7';
const AUTHENTICATION = 'auth_01kahqv5f2m8x3d7c9w1n4b6zt';
const DELIVERY = 'dlv_01kahqv5f2m8x3d7c9w1n4b6zt';

/** Examples of each command, by its path. A line that names `postback` is printed as it is. */
export const EXAMPLES: Readonly<Record<string, readonly string[]>> = {
  start: ['start', 'POSTBACK_API_PORT=9000 postback start', 'OUTBOUND_ALLOW_CIDRS=127.0.0.0/8 postback start'],
  api: ['api', 'POSTBACK_API_PORT=9000 postback api'],
  worker: ['worker', 'worker --queues content,control'],
  'worker promote': ['worker promote', 'worker promote --json'],
  embedder: ['POSTBACK_EMBEDDER_SOCKET=/run/postback/embedder.sock postback embedder'],
  'replay-open': ['replay-open', 'replay-open --json'],
  doctor: ['doctor', 'doctor --profile work --json'],
  'logs tail': ['logs tail worker', 'logs tail --json --no-follow --lines 100'],
  demo: ['demo'],
  env: ['env', 'env --profile work --json'],
  'databases create': ['databases create library'],
  'databases list': ['databases list', 'databases list --profile work --json'],
  'databases stats': ['databases stats library --json'],
  'databases delete': ['databases delete library'],
  ingest: [
    'ingest handbook.pdf fees.csv --database library --watch',
    'ingest ./docs "notes/**/*.md" --database library --metadata \'{"year": 2026}\'',
    'date | postback ingest - --database library',
  ],
  query: ['query "When does the library open?" --database library', 'query fees --database library --max 3 --explain'],
  'items list': ['items list --database library --status errored', 'items list --database library --limit 500 --json'],
  'items show': ['items show handbook.pdf --database library'],
  'items delete': ['items delete handbook.pdf fees.csv --database library'],
  export: ['export library.ndjson --database library'],
  import: ['import library.ndjson --database library --profile work'],
  mcp: ['mcp --profile work'],
  listen: [
    'listen --register',
    'listen --register --database library',
    'listen --port 4000 --forward-to http://127.0.0.1:8000/hooks',
  ],
  trigger: ['trigger indexing', 'trigger job --to http://127.0.0.1:4000/'],
  verify: ['verify body.json --headers headers.txt --secret whsec_…'],
  'deliveries list': ['deliveries list --status permanently_failed', 'deliveries list --jobs --json'],
  'deliveries show': [`deliveries show ${DELIVERY}`],
  'deliveries retry': [`deliveries retry ${DELIVERY}`, `deliveries retry ${DELIVERY} --crew support-reply`],
  'deliveries tail': ['deliveries tail', 'deliveries tail --crew support-reply --json'],
  events: ['events', 'events --types job.status_changed --json'],
  'jobs run': [
    'jobs run ocr/ocr_async/tesseract scan.pdf --wait',
    'jobs run text/language_detection/eld --text "Guten Morgen" --wait --json',
  ],
  'jobs models': ['jobs models'],
  'jobs list': ['jobs list --limit 10'],
  'jobs show': [`jobs show ${EXECUTION} --json`],
  'jobs cancel': [`jobs cancel ${EXECUTION}`],
  'crews list': ['crews list'],
  'crews kickoff': ['crews kickoff document-brief --input database=library --input topic=fees'],
  'crews status': [`crews status support-reply ${EXECUTION}`],
  'crews executions': ['crews executions support-reply --limit 10'],
  'crews waiting': ['crews waiting', 'crews waiting --json'],
  'crews approve': [`crews approve ${EXECUTION} --feedback "Good."`],
  'crews reject': [`crews reject ${EXECUTION} --feedback "Shorter, please."`],
  'crews cancel': [`crews cancel support-reply ${EXECUTION}`],
  'payments create': ['payments create --amount 1250 --currency EUR --return-url https://shop.example/return'],
  'payments list': ['payments list --status started', 'payments list --limit 10 --json'],
  'payments show': [`payments show ${AUTHENTICATION}`],
  'payments close': [`payments close ${AUTHENTICATION}`],
  'profiles add': ['profiles add work --url https://postback.example.com --key pbk_api_… --key pbk_crew_…'],
  'profiles list': ['profiles list'],
  'profiles remove': ['profiles remove work'],
  usage: ['usage', 'usage --profile work --json'],
  'keys create': [
    'keys create --org acme --kind api --label importer',
    'keys create --org acme --scopes read --expires 90d --json',
  ],
  'keys list': ['keys list --org acme', 'keys list --json'],
  'keys revoke': ['keys revoke key_01kahqv5f2m8x3d7c9w1n4b6zt'],
  'signing-key show': ['signing-key show --org acme > public-keys.pem', 'signing-key show --org acme --json'],
  'signing-key rotate': ['signing-key rotate --org acme'],
  'orgs limits show': ['orgs limits show --org acme', 'orgs limits show --org acme --json'],
  'orgs limits set': ['orgs limits set items=100000 stored_bytes=10000000000 --org acme'],
  'orgs limits clear': ['orgs limits clear items --org acme', 'orgs limits clear --org acme'],
  backup: ['backup backup.ndjson.gz', 'backup "backup-$(date +%F).ndjson.gz" --json'],
  restore: [
    'restore backup.ndjson.gz',
    'MONGODB_URI=mongodb://127.0.0.1:27017/restored postback restore backup.ndjson.gz',
  ],
  'sealing-key rotate': ['sealing-key rotate', 'sealing-key rotate --json'],
  'operators setup': ['operators setup', 'operators setup --ui https://temporal.example.com --json'],
  'index rebuild': ['index rebuild', 'index rebuild --embed --dry-run --price 0.02'],
  'index move': ['index move --to opensearch --dry-run', 'index move --to opensearch'],
  'index cancel': ['index cancel'],
  'model fetch': ['model fetch --to ./model'],
  'languages fetch': ['languages fetch deu fra', 'languages fetch --to ./languages'],
  'recogniser fetch': ['recogniser fetch', 'recogniser fetch --to ./languages'],
  completion: ['completion bash >> ~/.bashrc', 'completion fish > ~/.config/fish/completions/postback.fish'],
};

/** The way from nothing to the first hits and callbacks. */
const FIRST_STEPS = [
  'start',
  'databases create library',
  'ingest ./docs --database library --watch',
  'query "When does the library open?" --database library',
  'listen --register',
];

/** Adds the examples to the help of each command, and to that of a group the first of each of its commands. */
export function addExamples(command: Command, path = ''): void {
  const lines = Object.entries(EXAMPLES)
    .filter(([name]) => path !== '' && name.startsWith(`${path} `))
    .map(([, [first]]) => first!);
  const shown = path === '' ? FIRST_STEPS : (EXAMPLES[path] ?? lines);
  if (shown.length > 0) {
    const text = shown.map((line) => `  $ ${/(^| )postback /.test(line) ? line : `postback ${line}`}`).join('\n');
    command.addHelpText('after', `\nExamples:\n${text}`);
  }
  for (const each of command.commands) addExamples(each, `${path} ${each.name()}`.trim());
}
