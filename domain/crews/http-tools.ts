/** A tool that `crew.yaml` describes. Its definition is stored with executions, so it names secrets and holds none. */
export type HttpTool = OpenApiTool | McpServer;

interface HttpToolBase {
  /** Sent with each request. `${NAME}` is replaced by the secret of that name. */
  headers: Record<string, string>;
}

/** One operation of an API. */
export interface OpenApiTool extends HttpToolBase {
  /** URL of the OpenAPI document, JSON or YAML. */
  openapi: string;
  /** Its `operationId`. */
  operation: string;
}

/** The tools of an MCP server, offered as `<name>_<tool>`. */
export interface McpServer extends HttpToolBase {
  /** URL of the server (transport "Streamable HTTP"). */
  mcp: string;
  /** Names of the server's tools that agents may use; null: all of them. */
  allow: string[] | null;
}
