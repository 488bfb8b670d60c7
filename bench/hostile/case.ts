import type { IncomingMessage, ServerResponse } from 'node:http';
import type { KeyKind } from '../../domain/api-keys.js';
import type { ApiAccess } from '../support/api-client.js';

/** The instance that is attacked, as a client of the organisation `hostile` sees it. */
export interface Target extends ApiAccess {
  host: string;
  port: number;
  /** A database that is ready. */
  database: string;
  /** Creates a key of an organisation of its own. */
  createKey(kind: KeyKind, org: string): Promise<string>;
  /** Starts a foreign server that lives until the case ends. @returns its address, with a final slash */
  serve(respond: Respond): Promise<string>;
  /** Aborted when the case must end. */
  signal: AbortSignal;
}

export type Respond = (request: IncomingMessage, response: ServerResponse) => void;

/** A hostile request, file, site or receiver. */
export interface HostileCase {
  name: string;
  /**
   * Prepares what is sent, before anything is measured, and returns the attack, which ends when the instance has dealt
   * with it. @returns the outcome for the table, such as the status of the response
   */
  prepare(target: Target): Promise<Attack> | Attack;
}

export type Attack = () => Promise<string>;
