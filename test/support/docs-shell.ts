import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join, resolve } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { runCommand } from './command.js';
import { PATIENCE_MS } from './eventually.js';
import { outputOf } from './output.js';

/** What a script runs before the first command of a block. */
export const BLOCK_BEGINS = 'touch "$WORK/first"';

/**
 * What the shell of a page knows. `curl` without a body, and `postback`, repeat what fails until it succeeds, as a reader does who
 * waits for work in the background; what never succeeds fails the page. A `curl` with a body repeats only as the first command of a
 * block: a reader pastes a whole block, so nothing in it may depend on work that it has only begun. A variable that no command
 * of the page has set fails it too: readers copy no ids.
 */
const ATTEMPTS = Math.ceil(PATIENCE_MS / 200);
const PRELUDE = `set -euo pipefail
is_first() { rm "$WORK/first" 2> /dev/null; }
curl() {
  local attempt code attempts=${ATTEMPTS}
  if ! is_first; then case " $* " in *" -d "*|*" -F "*|*" --data"*) attempts=1;; esac; fi
  for attempt in $(seq 1 $attempts); do
    code=$(command curl -sS -o "$WORK/body" -w '%{http_code}' "$@") || true
    case $code in 2??) break;; esac
    sleep 0.2
  done
  case $code in 2??) ;; *) echo "curl $*: $code $(cat "$WORK/body")" >&2; return 1;; esac
  cat "$WORK/body"; echo
}
postback() {
  local attempt code
  is_first || true
  # The standard input belongs to a process.
  if [ -p /dev/stdin ]; then "$NODE" "$PROGRAM" "$@"; return; fi
  for attempt in $(seq 1 ${ATTEMPTS}); do
    code=$(printf '%s\\0' "$@" | command curl -sS -o "$WORK/out" -w '%{http_code}' --data-binary @- \\
      -H "folder: $PWD" -H "url: $POSTBACK_URL" -H "keys: $POSTBACK_API_KEY" "$RUNNER")
    if [ "$code" = 200 ]; then cat "$WORK/out"; return 0; fi
    sleep 0.2
  done
  echo "postback $*: $(cat "$WORK/out")" >&2; return 1
}
`;

const PROGRAM = resolve('dist/cli/main.js');

export interface ShellResult {
  code: number;
  out: string;
  err: string;
  /** The variables whose names start with POSTBACK_, at the end. */
  variables: Record<string, string>;
}

/** Runs scripts as a reader's shell does. Commands of `postback` run in this process, which costs less than one of their own. */
export async function createDocsShell(work: string, settings: Record<string, string>) {
  const server = createServer(async (request, response) => {
    const args = (await buffer(request)).toString().split('\0').slice(0, -1);
    const { folder, url, keys } = request.headers as Record<string, string>;
    const before = process.cwd();
    process.chdir(folder!);
    try {
      const environment = { ...settings, POSTBACK_URL: url!, POSTBACK_API_KEY: keys! };
      const { code, out, err } = await runCommand(args, environment);
      response.writeHead(code === 0 ? 200 : 500).end(code === 0 ? out : out + err);
    } finally {
      process.chdir(before);
    }
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const runner = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

  return {
    /** @param folder the current folder */
    async run(script: string, folder: string, env: Record<string, string>): Promise<ShellResult> {
      const file = join(work, 'page.sh');
      const variables = join(work, 'variables');
      writeFileSync(variables, '');
      writeFileSync(file, `${PRELUDE}\n${script}\nenv -0 | grep -z '^POSTBACK_' > "$WORK/variables" || true\n`);
      const child = spawn('bash', [file], {
        cwd: folder,
        env: { ...process.env, ...env, WORK: work, RUNNER: runner, NODE: process.execPath, PROGRAM },
        stdio: ['ignore', 'pipe', 'pipe'],
      });
      const output = outputOf(child);
      const [code] = await once(child, 'close');
      const entries = readFileSync(variables, 'utf8')
        .split('\0')
        .filter((entry) => entry.includes('='));
      const found = entries.map((entry) => [entry.slice(0, entry.indexOf('=')), entry.slice(entry.indexOf('=') + 1)]);
      return { code: code as number, ...output, variables: Object.fromEntries(found) };
    },
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}
