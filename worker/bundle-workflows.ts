/**
 * Prints the bundle of the workflows and of the interceptors in the files that its arguments name. A process of its own, because bundling loads a
 * compiler and a bundler, whose memory (80 MB) a worker would keep.
 */
import { bundleWorkflowCode } from '@temporalio/worker';

const [workflowsPath, interceptorsPath] = process.argv.slice(2);
const { code } = await bundleWorkflowCode({
  workflowsPath: workflowsPath!,
  workflowInterceptorModules: [interceptorsPath!],
  logger: { trace() {}, debug() {}, info() {}, warn: console.error, error: console.error, log() {} },
});
process.stdout.write(code);
