import S3rver from 's3rver';

/** The S3-compatible server of the cluster, as a process of its own. Arguments: the port, the folder, the bucket. */
const [port, directory, bucket] = process.argv.slice(2);
const server = new S3rver({
  port: Number(port),
  address: '127.0.0.1',
  silent: true,
  directory: directory!,
  configureBuckets: [{ name: bucket! }],
});
await server.run();
process.once('SIGTERM', () => process.exit(0));
