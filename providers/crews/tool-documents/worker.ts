import { type McpResults, readMcpResponse } from './mcp.js';
import { type Operation, readOperation, ToolDocumentError } from './openapi.js';

/** What can be read of what the servers of tools send: the input and the result of each kind. */
export interface ToolDocuments {
  openapi: { input: { text: string; operation: string; address: string }; result: Operation };
  initialize: { input: McpInput; result: McpResults['initialize'] };
  'tools/list': { input: McpInput; result: McpResults['tools/list'] };
  'tools/call': { input: McpInput; result: McpResults['tools/call'] };
}

interface McpInput {
  text: string;
  contentType: string;
  /** Of the request. */
  id: number;
}

export type ToolDocumentTask = {
  [Kind in keyof ToolDocuments]: { kind: Kind } & ToolDocuments[Kind]['input'];
}[keyof ToolDocuments];
export type ToolDocumentOutcome = { result: unknown } | { failure: string };

/** @throws ToolDocumentError */
export function readToolDocument(task: ToolDocumentTask): unknown {
  if (task.kind === 'openapi') return readOperation(task.text, task.operation, task.address);
  return readMcpResponse(task.kind, task.text, task.contentType, task.id);
}

/** The work of a process that reads the documents of tools. */
export default async function run(task: ToolDocumentTask): Promise<ToolDocumentOutcome> {
  try {
    return { result: readToolDocument(task) };
  } catch (error) {
    if (!(error instanceof ToolDocumentError)) throw error;
    return { failure: error.message };
  }
}
