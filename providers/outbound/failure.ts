/** Failures of an exchange as errors that may be stored and shown: no stack, no library names, no internal addresses. */
import { BlockedAddressError, OutboundError } from '../../domain/outbound.js';

/** The code and message of a delivery record, by the code of the system or the HTTP client. */
const KNOWN: Record<string, readonly [code: string, message: string]> = {
  ENOTFOUND: ['ENOTFOUND', 'name could not be resolved'],
  ENODATA: ['ENOTFOUND', 'name could not be resolved'],
  ESERVFAIL: ['ENOTFOUND', 'name could not be resolved'],
  EREFUSED: ['ENOTFOUND', 'name could not be resolved'],
  EBADNAME: ['ENOTFOUND', 'name could not be resolved'],
  EAI_AGAIN: ['ENOTFOUND', 'name could not be resolved'],
  ETIMEOUT: ['ETIMEDOUT', 'name lookup timed out'],
  ECONNREFUSED: ['ECONNREFUSED', 'connection refused'],
  ECONNRESET: ['ECONNRESET', 'connection reset'],
  EPIPE: ['ECONNRESET', 'connection closed by the receiver'],
  UND_ERR_SOCKET: ['ECONNRESET', 'connection closed before the response was complete'],
  ETIMEDOUT: ['ETIMEDOUT', 'connection timed out'],
  UND_ERR_CONNECT_TIMEOUT: ['ETIMEDOUT', 'connection timed out'],
  EHOSTUNREACH: ['EHOSTUNREACH', 'host unreachable'],
  ENETUNREACH: ['ENETUNREACH', 'network unreachable'],
  EADDRNOTAVAIL: ['EADDRNOTAVAIL', 'address not available'],
  UND_ERR_HEADERS_OVERFLOW: ['EPROTO', 'response has too many headers'],
  // Two lengths, or a length beside chunks.
  UND_ERR_RES_CONTENT_LENGTH_MISMATCH: ['EPROTO', 'response is not valid HTTP'],
  // The client asserts what its parser lets pass, such as the status 000.
  ERR_ASSERTION: ['EPROTO', 'response is not valid HTTP'],
  UND_ERR_CLOSED: ['ECANCELED', 'cancelled'],
  UND_ERR_DESTROYED: ['ECANCELED', 'cancelled'],
  UND_ERR_ABORTED: ['EPROXY', 'the egress proxy refused the connection'],
  UND_ERR_PRX_CONN: ['EPROXY', 'the egress proxy ended the connection'],
  UND_ERR_PRX_TLS: ['EPROXY', 'the TLS handshake with the egress proxy failed'],
  EPROTO: ['EPROTO', 'TLS handshake failed'],
};

const CERTIFICATE: Record<string, string> = {
  CERT_HAS_EXPIRED: 'expired',
  CERT_NOT_YET_VALID: 'not yet valid',
  CERT_REVOKED: 'revoked',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'self-signed',
  SELF_SIGNED_CERT_IN_CHAIN: 'self-signed certificate in its chain',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'issuer unknown or chain incomplete',
  UNABLE_TO_GET_ISSUER_CERT: 'issuer unknown or chain incomplete',
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: 'issuer unknown or chain incomplete',
  ERR_TLS_CERT_ALTNAME_INVALID: 'issued for another host name',
};

/** Maps any error of the connection, TLS or HTTP layer to one of the two errors of `OutboundClient`. */
export function describeFailure(thrown: unknown): BlockedAddressError | OutboundError {
  if (thrown instanceof BlockedAddressError || thrown instanceof OutboundError) return thrown;
  const code = codeOf(thrown);
  const known = KNOWN[code];
  if (known) return new OutboundError(known[0], known[1]);
  const certificate = CERTIFICATE[code];
  if (certificate) return new OutboundError(code, `TLS certificate not valid: ${certificate}`);
  if (code.startsWith('HPE_') || isParserError(thrown))
    return new OutboundError('EPROTO', 'response is not valid HTTP');
  if (code.startsWith('ERR_SSL_') || code.startsWith('ERR_TLS_'))
    return new OutboundError(code, 'TLS handshake failed');
  // OpenSSL's other certificate errors: CERT_UNTRUSTED, INVALID_CA, CRL_HAS_EXPIRED, …
  if (/^(CERT_|CRL_|INVALID_(CA|PURPOSE)|HOSTNAME_MISMATCH)/.test(code)) {
    return new OutboundError(code, `TLS certificate not valid: ${code.toLowerCase().replaceAll('_', ' ')}`);
  }
  return new OutboundError(code || 'EUNKNOWN', 'request failed');
}

/** Some errors of the HTTP parser have no code. */
function isParserError(thrown: unknown): boolean {
  return (thrown as { name?: unknown } | null)?.name === 'HTTPParserError';
}

/** When several addresses were tried, one error wraps all of theirs; the last one's code is used. */
function codeOf(thrown: unknown): string {
  const { code, errors } = (thrown ?? {}) as { code?: unknown; errors?: unknown };
  if (Array.isArray(errors) && errors.length > 0) return codeOf(errors.at(-1));
  return typeof code === 'string' ? code : '';
}
