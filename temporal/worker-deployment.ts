import { setTimeout as wait } from 'node:timers/promises';
import { type Client, isGrpcServiceError } from '@temporalio/client';
import type { WorkerDeploymentVersion } from '@temporalio/common';

/** The name of the deployment that all workers belong to. */
const DEPLOYMENT = 'postback';
/** gRPC status codes NOT_FOUND and FAILED_PRECONDITION. */
const NOT_THERE_YET = [5, 9];
const PAUSE_MS = 500;

/** @param buildId the fingerprint of the workflow code */
export function deploymentVersion(buildId: string): WorkerDeploymentVersion {
  return { deploymentName: DEPLOYMENT, buildId };
}

/**
 * Makes a version the current version: its workers then get the tasks of new and of open executions.
 * @param waitMs how long to wait until its workers poll every task queue that the current version serves
 * @throws Error when they do not
 */
export async function promoteVersion(client: Client, buildId: string, waitMs: number): Promise<void> {
  const { namespace, identity } = client.options;
  const request = { namespace, identity, deploymentName: DEPLOYMENT, buildId };
  for (const deadline = Date.now() + waitMs; ; await wait(PAUSE_MS)) {
    try {
      await client.workflowService.setWorkerDeploymentCurrentVersion(request);
      return;
    } catch (error) {
      if (!isGrpcServiceError(error) || !NOT_THERE_YET.includes(error.code)) throw error;
      if (Date.now() < deadline) continue;
      throw new Error(`The version ${buildId} cannot become the current version: ${error.details}`);
    }
  }
}
