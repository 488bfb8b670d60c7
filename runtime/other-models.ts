import type { Logger } from 'pino';
import { describeModel, otherModels } from '../domain/content/embedding-models.js';
import type { SharedDependencies } from './dependencies.js';

/** Logs which databases have vectors of another model than the configured one, and what to do. */
export async function warnOfOtherModels(
  { databaseIndexes, embedders }: Pick<SharedDependencies, 'databaseIndexes' | 'embedders'>,
  log: Pick<Logger, 'warn'>,
): Promise<void> {
  try {
    for (const other of otherModels(await databaseIndexes.listModels(), embedders)) {
      const { databases, available } = other;
      const meanwhile = available
        ? 'they use it until then'
        : 'until then they are searched by text only, and new items get no vectors, unless POSTBACK_PREVIOUS_EMBEDDINGS_URL names that model';
      log.warn(
        { databases, vectors: describeModel(other), configured: describeModel(embedders.current) },
        `databases have vectors of another embedding model: run "postback index rebuild --embed"; ${meanwhile}`,
      );
    }
  } catch (error) {
    log.warn({ err: error }, 'the embedding models of the databases could not be read');
  }
}
