/**
 * Runs first in a child process and in each of its threads. It closes what Node's permission model leaves open: sockets,
 * which it denies from Node 25 on only, signals to other processes, and threads that are started with permissions of their own.
 */
import dgram from 'node:dgram';
import dns from 'node:dns';
import { syncBuiltinESMExports } from 'node:module';
import net from 'node:net';
import threads, { type WorkerOptions } from 'node:worker_threads';

function refuse(): never {
  const error = new Error('A process that reads untrusted input reaches nothing outside.');
  throw Object.assign(error, { code: 'ERR_ACCESS_DENIED' });
}

function replace(owner: object, name: string, value: unknown): void {
  Object.defineProperty(owner, name, { value, writable: false, configurable: false });
}

// Every client of Node ends in these: TLS, HTTP, HTTP/2 and fetch.
replace(net.Socket.prototype, 'connect', refuse);
replace(net.Server.prototype, 'listen', refuse);
for (const name of ['bind', 'connect', 'send']) replace(dgram.Socket.prototype, name, refuse);
for (const owner of [dns, dns.promises, dns.Resolver.prototype, dns.promises.Resolver.prototype]) {
  const names = Object.getOwnPropertyNames(owner).filter((name) => /^(lookup|resolve|reverse)/.test(name));
  for (const name of names) replace(owner, name, refuse);
}

/** Functions that take a process id, for this process only: a signal ends the worker, or starts its debugger. */
function onlyForItself(owner: object, name: string): void {
  const original = Reflect.get(owner, name) as ((pid: number, ...rest: unknown[]) => unknown) | undefined;
  if (original === undefined) return;
  replace(owner, name, (pid: number, ...rest: unknown[]) =>
    Number(pid) === process.pid ? original.call(owner, process.pid, ...rest) : refuse(),
  );
}
for (const name of ['kill', '_kill', '_debugProcess']) onlyForItself(process, name);

const { Worker } = threads;
/** A thread gets the permissions of its process, because it may bring neither arguments nor variables. It runs a file. */
function ConfinedWorker(file: string | URL, { workerData, resourceLimits }: WorkerOptions = {}) {
  const url = file instanceof URL ? file.href : String(file);
  if (url.startsWith('data:')) throw new TypeError('A thread runs a file.');
  return new Worker(url.startsWith('file:') ? new URL(url) : url, { workerData, resourceLimits });
}
ConfinedWorker.prototype = Worker.prototype;
replace(Worker.prototype, 'constructor', ConfinedWorker);
replace(threads, 'Worker', ConfinedWorker);
syncBuiltinESMExports();
