/**
 * The process between Postback and a server it starts. It runs the command in its arguments, and ends that command when
 * Postback is gone, even after kill -9: the IPC channel to Postback closes then. So no server outlives Postback.
 * It runs in a session of its own: Ctrl-C in the terminal reaches only Postback, which stops its children in order.
 */
import { spawn } from 'node:child_process';

/** How long a server may take to stop before it is killed, in ms. */
const STOP_TIMEOUT_MS = 15_000;

const [command, ...args] = process.argv.slice(2);
if (!command || !process.send) throw new Error('supervisor.js needs a command and an IPC channel');

const child = spawn(command, args, { stdio: ['ignore', 'inherit', 'inherit'] });

let stopping = false;
function stop(): void {
  if (stopping) return;
  stopping = true;
  child.kill('SIGTERM');
  setTimeout(() => child.kill('SIGKILL'), STOP_TIMEOUT_MS).unref();
}

process.once('disconnect', stop);
for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, stop);
child.once('spawn', () => process.connected && process.send?.({ pid: child.pid }, () => undefined));
child.once('error', (error) => {
  console.error(error.message);
  process.exit(127);
});
child.once('exit', (code, signal) => process.exit(code ?? (signal ? 1 : 0)));
