import { connect, type Socket } from 'node:net';
import type { Target } from './case.js';

/** Sends a request by hand, as fetch would not. @returns the status of the response, or how the connection ended */
export function sendRaw(
  { host, port, signal }: Target,
  write: (socket: Socket) => void | Promise<void>,
): Promise<string> {
  return new Promise((resolve) => {
    const started = performance.now();
    const seconds = () => `${Math.round((performance.now() - started) / 1000)} s`;
    let received = '';
    const socket = connect(port, host);
    const finish = (how: string) => {
      const statuses = [...received.matchAll(/HTTP\/1\.1 (\d{3})/g)].map(([, status]) => status);
      const shown = statuses.length > 3 ? `${statuses.length} × ${statuses[0]}` : statuses.join(', ');
      resolve([shown, how].filter((part) => part !== '').join(', '));
      socket.destroy();
    };
    socket.setEncoding('latin1').on('data', (chunk: string) => {
      if (received.length < 1024 * 1024) received += chunk;
    });
    socket.once('error', () => finish(`cut after ${seconds()}`));
    socket.once('close', () => finish(`closed after ${seconds()}`));
    signal.addEventListener('abort', () => finish(`open after ${seconds()}`), { once: true });
    socket.once('connect', () => write(socket));
  });
}

/** The lines of a request's head, with the headers that every request of the content service needs. */
export function head({ key }: Target, line: string, headers: Record<string, string | number> = {}): string {
  const all = { Host: 'localhost', Authorization: `Bearer ${key}`, 'API-Version': '2', ...headers };
  return `${line} HTTP/1.1\r\n${Object.entries(all)
    .map(([name, value]) => `${name}: ${value}\r\n`)
    .join('')}\r\n`;
}

/** Writes a piece again and again, one each interval, as long as the other side listens. */
export function trickle(socket: Socket, piece: string | Buffer, everyMs: number): void {
  const timer = setInterval(() => socket.write(piece), everyMs);
  socket.once('close', () => clearInterval(timer));
}

/** Sends a request. @returns the status and the code of its error */
export async function send(
  { apiUrl, key, signal }: Target,
  method: string,
  path: string,
  body?: RequestInit['body'],
  headers: Record<string, string> = {},
): Promise<string> {
  try {
    const response = await fetch(apiUrl + path, {
      method,
      headers: { Authorization: `Bearer ${key}`, 'API-Version': '2', ...headers },
      signal,
      ...(body === undefined ? {} : { body }),
    });
    const text = await response.text();
    const code = /"code":"(\w+)"/.exec(text)?.[1];
    return code === undefined ? `${response.status}` : `${response.status} ${code}`;
  } catch (error) {
    return signal.aborted ? 'no response' : `failed: ${((error as Error).cause as Error)?.message ?? error}`;
  }
}

export const JSON_TYPE = { 'Content-Type': 'application/json' };

/** Sends an ingest request with one text field. */
export function sendField(
  target: Target,
  name: string,
  text: string,
  headers: Record<string, string> = {},
): Promise<string> {
  const form = new FormData();
  form.set('database', target.database);
  form.set(name, text);
  return send(target, 'POST', '/context/ingest', form, headers);
}

/** The outcomes of many requests, counted. */
export function summarise(outcomes: readonly string[]): string {
  const counts = new Map<string, number>();
  for (const outcome of outcomes) counts.set(outcome, (counts.get(outcome) ?? 0) + 1);
  return [...counts].map(([outcome, count]) => (count === 1 ? outcome : `${count} × ${outcome}`)).join(', ');
}
