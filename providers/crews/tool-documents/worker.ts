import { type Operation, readOperation, ToolDocumentError } from './openapi.js';

export interface ToolDocumentTask {
  text: string;
  /** Its `operationId`. */
  operation: string;
  /** Of the document. */
  address: string;
}
export type ToolDocumentOutcome = { operation: Operation } | { failure: string };

/** The work of a process that reads the documents of tools. */
export default async function run({ text, operation, address }: ToolDocumentTask): Promise<ToolDocumentOutcome> {
  try {
    return { operation: readOperation(text, operation, address) };
  } catch (error) {
    if (!(error instanceof ToolDocumentError)) throw error;
    return { failure: error.message };
  }
}
