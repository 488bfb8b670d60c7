/** Turns of connections: the order in which incoming bytes are parsed and requests are served. */
import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** Bytes parsed at a time: a few hundred requests at most, or a few thousand chunks of a body. Smaller slices slow uploads down. */
const SLICE_BYTES = 16 * 1024;
/** Time in which one turn of the event loop parses and starts requests. */
const TURN_MS = 20;
/** Requests of all connections that may wait for the one before them. Each takes about 4 kB. */
const MAX_WAITING = 5_000;

/** A socket as Node's HTTP server uses it. While it is `_paused`, the parser must not get anything. */
type HttpSocket = Socket & { parser?: unknown; _paused?: boolean };

interface Connection {
  socket: HttpSocket;
  /** Node's own listener for `data`, which parses a piece and emits the requests in it. */
  parse: (piece: Buffer) => void;
  /** Bytes that have arrived and are not parsed yet. */
  unparsed: Buffer[];
  /** The latest request. */
  latest?: IncomingMessage;
  /** Requests that wait for the one that is served. */
  waiting: [IncomingMessage, ServerResponse][];
  serving: boolean;
  /** Whether this module has paused the connection, which waits for a turn or for its own requests. */
  held: boolean;
}

/**
 * Serves the requests of a connection one after the other, and lets other connections run between two of them. Node parses
 * all that has arrived on all connections at once, and starts all requests in it: thousands, when clients have sent
 * requests ahead (pipelining). Here, all connections together are parsed for `TURN_MS` at a time, in slices, and one whose
 * requests wait is not parsed any further.
 */
export function serveInTurns(server: Server, serve: RequestListener): void {
  const connections = new WeakMap<Socket, Connection>();
  const queue = new Set<Connection>();
  let turnEnds = 0;
  let waiting = 0;

  server.on('connection', (socket: HttpSocket) => {
    const [parse] = socket.listeners('data') as Connection['parse'][];
    const connection: Connection = {
      socket,
      parse: parse ?? (() => undefined),
      unparsed: [],
      waiting: [],
      serving: false,
      held: false,
    };
    connections.set(socket, connection);
    // A Node.js that reads its sockets in another way still has its requests served one after the other.
    if (!parse) return;
    socket.on('data', (piece: Buffer) => {
      connection.unparsed.push(piece);
      read(connection);
    });
    socket.off('data', parse);
    socket.on('resume', () => read(connection));
    socket.once('close', () => {
      queue.delete(connection);
      forget(connection);
    });
  });

  server.on('request', (req, res) => {
    const connection = connections.get(req.socket)!;
    connection.latest = req;
    if (!connection.serving) return start(connection, req, res);
    connection.waiting.push([req, res]);
    waiting += 1;
    if (waiting > MAX_WAITING) req.socket.destroy();
  });

  function start(connection: Connection, req: IncomingMessage, res: ServerResponse): void {
    connection.serving = true;
    // Emitted after the response, and also when the connection ends.
    res.once('close', () => setImmediate(next, connection));
    serve(req, res);
  }

  function next(connection: Connection): void {
    connection.serving = false;
    const exchange = connection.waiting.shift();
    if (exchange) {
      waiting -= 1;
      start(connection, ...exchange);
    }
    read(connection);
  }

  function forget(connection: Connection): void {
    connection.unparsed = [];
    waiting -= connection.waiting.splice(0).length;
  }

  /** Parses the bytes that have arrived, as far as the turn and the requests of the connection allow. */
  function read(connection: Connection): void {
    const { socket, unparsed } = connection;
    while (!mustWait(connection) && unparsed.length > 0) connection.parse.call(socket, takeSlice(unparsed));
    // Without a parser the connection is no longer served.
    if (socket.destroyed || !socket.parser) forget(connection);
    else if (mustWait(connection)) hold(connection);
    // A body that nobody reads keeps its connection paused; Node resumes it.
    else if (connection.held && !isFull(connection.latest)) {
      connection.held = false;
      socket.resume();
    }
  }

  function mustWait(connection: Connection): boolean {
    const { socket, unparsed } = connection;
    if (socket.destroyed || !socket.parser || socket._paused || connection.waiting.length > 0) return true;
    if (unparsed.length === 0) return false;
    if (isTurnOver()) queue.add(connection);
    return queue.has(connection);
  }

  function hold(connection: Connection): void {
    connection.held = true;
    connection.socket.pause();
  }

  function isTurnOver(): boolean {
    const now = performance.now();
    if (turnEnds === 0) {
      turnEnds = now + TURN_MS;
      setImmediate(nextTurn);
    }
    return now > turnEnds;
  }

  function nextTurn(): void {
    turnEnds = 0;
    const waitingConnections = [...queue];
    queue.clear();
    for (const connection of waitingConnections) read(connection);
  }
}

function takeSlice(pieces: Buffer[]): Buffer {
  const first = pieces[0]!;
  if (first.length <= SLICE_BYTES) pieces.shift();
  else pieces[0] = first.subarray(SLICE_BYTES);
  return first.subarray(0, SLICE_BYTES);
}

function isFull(request: IncomingMessage | undefined): boolean {
  return request !== undefined && !request.complete && request.readableLength >= request.readableHighWaterMark;
}
