import { bytes } from './format.js';

/** A file that a person has chosen, and the id of its item. @typedef {{ id: string, file: File }} Source */

/** @typedef {import('./api.js').Schemas['Usage']['ingest']} Limits */

/** Bytes of an id; docs/limits.md. */
const MAX_ID_BYTES = 200;
/** Bytes in which a file that is not text shows it. */
const HEAD_BYTES = 4_096;

/**
 * The files of a choice. Their paths within a chosen folder are their ids, as with `postback ingest`.
 * @param {FileList | null} files
 * @returns {Source[]}
 */
export const chosenFiles = (files) =>
  [...(files ?? [])]
    .map((file) => ({ id: file.webkitRelativePath.split('/').slice(1).join('/') || file.name, file }))
    .filter(({ id }) => !isHidden(id));

/**
 * The files that were dropped, with those in dropped folders.
 * @param {DataTransfer} dropped
 * @returns {Promise<Source[]>}
 */
export async function droppedFiles(dropped) {
  // All of them before anything is awaited: the list is empty afterwards.
  const items = [...dropped.items].map((item) => ({ entry: item.webkitGetAsEntry(), file: item.getAsFile() }));
  const found = await Promise.all(
    items.map(async ({ entry, file }) => {
      if (entry?.isDirectory) return filesInside(directory(entry), '');
      return file ? [{ id: file.name, file }] : [];
    }),
  );
  return found.flat().filter(({ id }) => !isHidden(id));
}

/** @param {FileSystemEntry} entry */
const directory = (entry) => /** @type {FileSystemDirectoryEntry} */ (entry);

/** @param {FileSystemEntry} entry @param {string} path @returns {Promise<Source[]>} */
async function fileOf(entry, path) {
  /** @type {File} */
  const file = await new Promise((resolve, reject) => /** @type {FileSystemFileEntry} */ (entry).file(resolve, reject));
  return [{ id: path + file.name, file }];
}

/** @param {FileSystemDirectoryEntry} folder @param {string} path @returns {Promise<Source[]>} */
async function filesInside(folder, path) {
  const reader = folder.createReader();
  /** @type {Source[]} */
  const found = [];
  for (;;) {
    // A call returns a part of the entries; the last one none.
    /** @type {FileSystemEntry[]} */
    const entries = await new Promise((resolve, reject) => reader.readEntries(resolve, reject));
    if (entries.length === 0) return found;
    for (const entry of entries) {
      const inside = entry.isDirectory
        ? await filesInside(directory(entry), `${path}${entry.name}/`)
        : await fileOf(entry, path);
      found.push(...inside);
    }
  }
}

/** Hidden files and folders are left out, such as `.git`. @param {string} path */
const isHidden = (path) => path.split('/').some((part) => part.startsWith('.'));

/**
 * Why the API would reject a file, as far as that is known before it is sent.
 * @param {Source} source
 * @param {Limits | undefined} limits
 * @returns {Promise<string | undefined>}
 */
export async function faultOf({ id, file }, limits) {
  if (new TextEncoder().encode(id).length > MAX_ID_BYTES)
    return `Its path is its id, which must not exceed ${MAX_ID_BYTES} bytes.`;
  if (file.size === 0) return 'The file is empty.';
  if (!limits) return undefined;
  const max = Math.min(limits.max_file_bytes, limits.max_request_bytes);
  if (file.size > max) return `The file has ${bytes(file.size)}. A file must not exceed ${bytes(max)}.`;
  const extension = /\.([^./]+)$/.exec(file.name)?.[1] ?? '';
  if (limits.file_extensions.includes(extension.toLowerCase()) || (await isText(file))) return undefined;
  const kind = extension ? `Files of the kind .${extension}` : 'Files of this kind';
  return `${kind} are not accepted. Accepted: text, and ${limits.file_extensions.join(', ')}.`;
}

/** Files with other extensions are accepted when they are text. @param {File} file */
async function isText(file) {
  const head = new Uint8Array(await file.slice(0, HEAD_BYTES).arrayBuffer());
  const isUtf16 = (head[0] === 0xff && head[1] === 0xfe) || (head[0] === 0xfe && head[1] === 0xff);
  return isUtf16 || !head.some((byte) => byte < 9 || (byte > 13 && byte < 27));
}
