import msgreader, { type FieldsData } from '@kenjiuno/msgreader';
import iconv from 'iconv-lite';
import { ExtractionError } from '../../../domain/extraction.js';
import type { Mail } from './mail.js';

const { default: MsgReader } = msgreader;
type Reader = InstanceType<typeof MsgReader>;

/** A message of Outlook. @throws ExtractionError E2001 damaged */
export function readMsg(file: Buffer): Mail {
  const { reader, message } = open(file);
  const { recipients = [] } = message;
  const to = (type: 'to' | 'cc') => recipients.filter(({ recipType = 'to' }) => recipType === type).map(person);
  return {
    subject: message.subject,
    headers: [
      ['From', person({ name: message.senderName, email: message.senderSmtpAddress ?? message.senderEmail })],
      ['To', to('to').join(', ')],
      ['Cc', to('cc').join(', ')],
      ['Date', dateOf(message)],
      ['Subject', message.subject],
    ],
    text: message.body,
    html: htmlOf(message),
    attachments: (message.attachments ?? [])
      .filter(({ attachmentHidden }) => !attachmentHidden)
      .map((attachment) => ({
        name: attachment.fileName ?? attachment.fileNameShort ?? attachment.name,
        extension: attachment.innerMsgContent ? '.msg' : '',
        content: reader.getAttachment(attachment).content,
      })),
  };
}

interface Opened {
  reader: Reader;
  message: FieldsData;
}

/** Code pages of Windows by the language of the message (LCID). */
const CODE_PAGES: Record<number, number> = {
  1025: 1256, // Arabic
  1028: 950, // Chinese, Taiwan
  1029: 1250, // Czech
  1032: 1253, // Greek
  1037: 1255, // Hebrew
  1038: 1250, // Hungarian
  1041: 932, // Japanese
  1042: 949, // Korean
  1045: 1250, // Polish
  1049: 1251, // Russian
  1055: 1254, // Turkish
  1058: 1251, // Ukrainian
  2052: 936, // Chinese, mainland
};

/** Texts that are not Unicode are in the code page of the message, or of its language. */
function open(file: Buffer): Opened {
  try {
    const first = read(file);
    const { messageCodepage, messageLocaleId } = first.message;
    const encoding = `cp${messageCodepage ?? CODE_PAGES[messageLocaleId ?? 0]}`;
    return iconv.encodingExists(encoding) ? read(file, encoding) : first;
  } catch (error) {
    // The library's messages can quote the file.
    throw error instanceof RangeError ? error : new ExtractionError('E2001');
  }
}

function read(file: Buffer, ansiEncoding?: string): Opened {
  const reader = new MsgReader(new Uint8Array(file).buffer);
  if (ansiEncoding) reader.parserConfig = { ansiEncoding };
  const message = reader.getFileData();
  if (message.error) throw new Error(message.error);
  return { reader, message };
}

function htmlOf({ html, bodyHtml, internetCodepage = 65001 }: FieldsData): string | undefined {
  if (!html) return bodyHtml;
  const encoding = internetCodepage === 65001 ? 'utf-8' : `cp${internetCodepage}`;
  return iconv.decode(Buffer.from(html), iconv.encodingExists(encoding) ? encoding : 'utf-8');
}

function person({ name = '', email = '', smtpAddress = email }: Pick<FieldsData, 'name' | 'email' | 'smtpAddress'>) {
  return name !== '' && smtpAddress !== '' && name !== smtpAddress ? `${name} <${smtpAddress}>` : smtpAddress || name;
}

function dateOf({ clientSubmitTime, messageDeliveryTime, creationTime }: FieldsData): string | undefined {
  const stated = clientSubmitTime ?? messageDeliveryTime ?? creationTime;
  const date = new Date(stated ?? '');
  return Number.isNaN(date.getTime()) ? stated : date.toISOString();
}
