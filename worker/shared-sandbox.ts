import { type Logger, Worker } from '@temporalio/worker';
import type { CompiledWorkerOptions } from '@temporalio/worker/lib/worker-options.js';
import type { WorkflowCreator } from '@temporalio/worker/lib/workflow/interface.js';
import type { WorkflowBundleWithSourceMapAndFilename as Bundle } from '@temporalio/worker/lib/workflow/workflow-worker-thread/input.js';

/**
 * Makes a Temporal worker class whose instances run their workflows in one sandbox. Without this each worker starts a
 * thread that loads the SDK and all workflows: 0.7 s of CPU and 40 MB per task queue, for code that is the same in all.
 * @param activities of all workers that share the sandbox: workflows may call those of any of them as local activities
 */
export function workerWithSharedSandbox(activities: readonly object[]): typeof Worker {
  const allActivities = new Map(activities.flatMap((functions) => Object.entries(functions)));
  let sandbox: Promise<WorkflowCreator> | undefined;
  let users = 0;

  return class extends Worker {
    protected static override async createWorkflowCreator(
      bundle: Bundle,
      options: CompiledWorkerOptions,
      logger: Logger,
    ): Promise<WorkflowCreator> {
      users++;
      sandbox ??= Worker.createWorkflowCreator(bundle, { ...options, activities: allActivities }, logger);
      const shared = await sandbox;
      return {
        createWorkflow: (workflow) => shared.createWorkflow(workflow),
        destroy: async () => {
          if (--users === 0) await shared.destroy();
        },
      };
    }
  };
}
