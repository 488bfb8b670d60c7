/**
 * A process that writes rows into a table of the search index, and compacts it between them:
 * `node index-writer.js <mongodb uri> <location as JSON> <table> <writer> <rows>`. Prints the rows and fragments of the table.
 */
import { connect } from '@lancedb/lancedb';
import { NO_METADATA } from '../../domain/content/indexed-metadata.js';
import type { IndexRow } from '../../domain/content/search.js';
import type { S3Location } from '../../domain/s3-location.js';
import { createCompactionLeases } from '../../storage/content/compaction-leases.js';
import { createLanceIndex } from '../../storage/content/search-index/lancedb/index.js';
import { openTestCollections } from './mongodb.js';

/** Rows between two compactions. */
const COMPACT_EVERY = 4;

const row = (chunk_id: string): IndexRow => ({
  chunk_id,
  source_id: chunk_id,
  collection: 'papers',
  type: 'knowledge',
  text: 'plate',
  vector: null,
  metadata: NO_METADATA,
});
const [uri, place, table, writer, rows] = process.argv.slice(2);
const location = JSON.parse(place!) as S3Location;
const collections = await openTestCollections(uri!);
const index = createLanceIndex({ location, leases: createCompactionLeases(collections) });
await index.create(table!);
const compactions: Promise<void>[] = [];
for (let n = 1; n <= Number(rows); n += 1) {
  // Each row takes the place of a row that the process has just written, which a compaction may be moving.
  await index.write(table!, [row(`${writer}-${n}-old:0`)]);
  await index.write(table!, [row(`${writer}-${n}:0`)], [`${writer}-${n}-old:0`]);
  if (n % COMPACT_EVERY === 0) compactions.push(index.compact(table!));
}
await Promise.all(compactions);
if (Number(rows) === 0) await index.compact(table!);
const { bucket, prefix, endpoint = '', region = '' } = location;
const storageOptions = { awsEndpoint: endpoint, awsRegion: region, allowHttp: 'true' };
const connection = await connect({ uri: `s3://${bucket}/${prefix}`, storageOptions });
const opened = await connection.openTable(table!);
const stored = await opened.query().where("chunk_id != ''").select(['chunk_id']).toArray();
const { numFragments } = (await opened.stats()).fragmentStats;
console.log(JSON.stringify({ rows: stored.map(({ chunk_id }) => chunk_id).sort(), fragments: numFragments }));
await index.close();
await collections.mongoClient.close();
