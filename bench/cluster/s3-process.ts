import { createS3Server } from '../../test/support/s3.js';

/** The S3-compatible server of the cluster, as a process of its own. Arguments: the port, the folder, the bucket. */
const [port, directory, bucket] = process.argv.slice(2);
await createS3Server(Number(port), directory!, bucket!).run();
process.once('SIGTERM', () => process.exit(0));
