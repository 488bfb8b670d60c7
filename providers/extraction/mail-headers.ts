/** Headers that mail programs write, and hardly anybody else does. */
const TRANSPORT = ['message-id', 'mime-version', 'received', 'return-path', 'dkim-signature', 'delivered-to'];
const COMMON = ['from', 'to', 'cc', 'subject', 'date', 'sender', 'reply-to', 'content-type'];
/** Lines that are looked at; the first headers are enough. */
const MAX_LINES = 300;

/**
 * Whether a text is an e-mail (RFC 5322): it starts with headers, at least one of them by a mail program. A note that begins
 * with "From:" and "To:" is none.
 * @param text the beginning of the file
 * @param named whether the file name ends with `.eml`; then any two headers of e-mails are enough
 */
export function looksLikeMail(text: string, named: boolean): boolean {
  const names = new Set<string>();
  const lines = text.split('\n', MAX_LINES);
  // The last line may be cut.
  if (lines.length > 1) lines.pop();
  for (const line of lines) {
    if (line === '') break;
    if (/^[\t ]/.test(line) && names.size > 0) continue;
    const name = /^([!-9;-~]{1,76}):/.exec(line)?.[1];
    if (name === undefined) return false;
    names.add(name.toLowerCase());
  }
  const transport = TRANSPORT.filter((name) => names.has(name)).length;
  const common = COMMON.filter((name) => names.has(name)).length;
  return named ? transport + common >= 2 : transport >= 1 && common >= 2;
}
