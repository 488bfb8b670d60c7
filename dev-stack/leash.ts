/**
 * A process of its own: runs the command in its arguments and ends it when the process that started the leash is gone,
 * however that happened (kill -9 included), so no server outlives Postback. It knows by its IPC channel closing.
 * It sits in a session of its own: Ctrl-C in the terminal reaches Postback only, which then ends things in order.
 */
import { spawn } from 'node:child_process';

/** How long a server may take to end in order, in ms. */
const GRACE_MS = 15_000;

const [command, ...args] = process.argv.slice(2);
if (!command || !process.send) throw new Error('leash.js is started by Postback, with a command and an IPC channel');

const child = spawn(command, args, { stdio: ['ignore', 'inherit', 'inherit'] });

let ending = false;
function end(): void {
  if (ending) return;
  ending = true;
  child.kill('SIGTERM');
  setTimeout(() => child.kill('SIGKILL'), GRACE_MS).unref();
}

process.once('disconnect', end);
for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, end);
child.once('spawn', () => process.connected && process.send?.({ pid: child.pid }, () => undefined));
child.once('error', (error) => {
  console.error(error.message);
  process.exit(127);
});
child.once('exit', (code, signal) => process.exit(code ?? (signal ? 1 : 0)));
