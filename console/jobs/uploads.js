import { ApiError, call } from '../api.js';
import { session } from '../session.js';

/** @param {Response} response @returns {Promise<Response>} @throws {ApiError} */
async function checked(response) {
  if (response.ok) return response;
  const { error } = await response.json().catch(() => ({}));
  throw new ApiError(
    response.status,
    error?.code ?? '',
    error?.message ?? `The server responded with status ${response.status}.`,
  );
}

/** Sends a file for jobs. @param {File} file @param {(share: number) => void} onProgress @returns {Promise<{ file_id: string }>} */
export function uploadFile(file, onProgress) {
  const form = new FormData();
  form.append('file', file);
  return call('POST', '/v3/upload', { form, onProgress });
}

/** The content of an upload, while it is stored. @param {string} id @param {AbortSignal} signal @returns {Promise<Blob>} */
export async function downloadUpload(id, signal) {
  const path = `/v3/upload/${encodeURIComponent(id)}/content`;
  const response = await fetch(path, {
    headers: { Authorization: `Bearer ${session.key('api') ?? ''}` },
    signal,
    credentials: 'omit',
  });
  return (await checked(response)).blob();
}
