import { ActivityFailure, ApplicationFailure } from '@temporalio/workflow';
import { FOR_CLIENT } from '../domain/workflow-contract.js';

/** @returns the code and message that a failed activity gave for the client; null for any other error */
export function clientFailureOf(error: unknown): { code: string; message: string } | null {
  const cause = causeOf(error);
  if (!cause?.type || cause.details?.[0] !== FOR_CLIENT) return null;
  return { code: cause.type, message: cause.message };
}

/** Whether an activity failed with this type. */
export function hasFailureType(error: unknown, type: string): boolean {
  return causeOf(error)?.type === type;
}

function causeOf(error: unknown): ApplicationFailure | null {
  return error instanceof ActivityFailure && error.cause instanceof ApplicationFailure ? error.cause : null;
}
