import iconv from 'iconv-lite';
import PostalMime, { type Address, type Email } from 'postal-mime';
import { ExtractionError } from '../../../domain/extraction.js';
import { encodingOf } from '../plain-text.js';
import type { Mail } from './mail.js';

/** Levels of multipart. Programs write four or five. */
const MAX_NESTING = 50;
/** A part states its encoding, or is no text. */
const STATES_ENCODING = /charset\*?=|encoding:\s*binary/i;

/** The line with which a mailbox starts each e-mail, and the first header after it. */
const FROM_LINE = /(?:^|\n\r?\n)From \S[^\n]*\n(?=[!-9;-~]+:)/g;

/** The e-mails of a file, which is one of them or a mailbox (mbox). @throws as `readEml` */
export async function readMailbox(file: Buffer): Promise<Mail[]> {
  if (file.toString('latin1', 0, 5) !== 'From ') return [await readEml(file)];
  const starts = [...file.toString('latin1').matchAll(FROM_LINE)];
  const mails: Mail[] = [];
  for (const [at, { index, 0: line }] of starts.entries())
    mails.push(await readEml(file.subarray(index + line.length, starts[at + 1]?.index)));
  return mails;
}

/**
 * An e-mail in the internet's format (RFC 5322, MIME).
 * @throws ExtractionError E2001 damaged, E2003 when its parts are nested too deeply
 */
async function readEml(file: Buffer): Promise<Mail> {
  const mail = await PostalMime.parse(decoded(file), {
    // Attached e-mails are read as attachments, so that their text is not taken for this e-mail's.
    forceRfc822Attachments: true,
    maxNestingDepth: MAX_NESTING,
  }).catch((error: Error) => {
    throw new ExtractionError(/^Maximum/.test(error.message) ? 'E2003' : 'E2001');
  });
  return {
    subject: mail.subject,
    headers: [
      ['From', namesOf(mail.from && [mail.from])],
      ['To', namesOf(mail.to)],
      ['Cc', namesOf(mail.cc)],
      ['Date', mail.date],
      ['Subject', mail.subject],
    ],
    text: mail.text,
    html: mail.html,
    attachments: mail.attachments
      .filter((part) => !isEmbedded(part, mail))
      .map(({ filename, mimeType, content }) => ({
        name: filename,
        extension: mimeType === 'message/rfc822' ? '.eml' : '',
        content: new Uint8Array(content as ArrayBuffer),
      })),
  };
}

/** The parser reads parts that state no encoding as UTF-8. Headers in ASCII would hide the encoding of a short text. */
function decoded(file: Buffer): Buffer | string {
  const encoding = encodingOf(file);
  if (/^utf-(?:16|32)/.test(encoding)) return iconv.decode(file, encoding);
  const bytes = file.toString('latin1');
  if (STATES_ENCODING.test(bytes)) return file;
  const lines = bytes.split('\n').filter((line) => /[\x80-\xff]/.test(line));
  return lines.length === 0 ? file : iconv.decode(file, encodingOf(Buffer.from(lines.join('\n'), 'latin1')));
}

type Part = Email['attachments'][number];

/** A picture that the HTML shows, such as a logo. */
const isEmbedded = ({ mimeType, related }: Part, { html }: Email) =>
  Boolean(related && html && mimeType.startsWith('image/'));

function namesOf(addresses: readonly Address[] = []): string {
  return addresses
    .flatMap((address) => address.group ?? [address])
    .map(({ name, address }) => (name && name !== address ? `${name} <${address}>` : address))
    .join(', ');
}
