import { once } from 'node:events';
import { createLocalEmbedder } from '../providers/embeddings/local.js';
import { createEmbeddingServer, listenOnSocket } from '../providers/embeddings/socket-server.js';
import { readConfig } from '../runtime/config.js';
import { createLogger } from '../runtime/logger.js';
import { exitAfter, runProcess, stopRequested } from '../runtime/process.js';
import { localModel } from '../runtime/provider-config.js';

/** How long closing may take: a batch of the model, and the responses. */
const CLOSE_MS = 10_000;

await runProcess(runEmbedder);

/** The embedding process: holds the model once for all processes that share it, until it is asked to stop. */
async function runEmbedder(): Promise<void> {
  const stopped = stopRequested();
  const config = readConfig(process.env);
  const log = createLogger(config.LOG_LEVEL, 'embedder');
  const { POSTBACK_EMBEDDER_SOCKET: socket, POSTBACK_EMBEDDER_PORT: port, POSTBACK_EMBEDDER_HOST: host } = config;
  const model = localModel(config);
  if (socket === undefined && port === undefined) {
    throw new Error('neither POSTBACK_EMBEDDER_SOCKET nor POSTBACK_EMBEDDER_PORT is set');
  }
  if (model === undefined) throw new Error('POSTBACK_EMBEDDING_MODEL_DIR is not set');

  const embedder = createLocalEmbedder(model);
  const server = createEmbeddingServer(embedder);
  if (port !== undefined) await once(server.listen(port, host), 'listening');
  else await listenOnSocket(server, socket!);
  log.info({ address: server.address() }, 'embedder listening');
  process.send?.({ ready: true });

  await stopped;
  log.info('embedder stopping');
  exitAfter(CLOSE_MS);
  const closed = once(server, 'close');
  server.close();
  // Rejects waiting texts. Their clients retry, or are stopping too.
  await embedder.close();
  server.closeAllConnections();
  await closed;
}
