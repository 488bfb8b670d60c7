import { getDocument, PDFWorker } from 'pdfjs-dist/legacy/build/pdf.mjs';

const WORKER = '/console/vendor/pdfjs-dist/legacy/build/pdf.worker.mjs';

/** The policy of the page requires that a worker's address comes from a policy. This one knows no other address. */
function startWorker() {
  const { trustedTypes } = /** @type {any} */ (globalThis);
  const url = trustedTypes ? workerPolicy(trustedTypes).createScriptURL(WORKER) : WORKER;
  return new Worker(url, { type: 'module' });
}

/** @type {any} */
let policy;

/** @param {any} trustedTypes */
function workerPolicy(trustedTypes) {
  policy ??= trustedTypes.createPolicy('postback-pdf', { createScriptURL: () => WORKER });
  return policy;
}

/** The document that was opened last, because its pages are looked at one after the other. @type {{ blob: Blob, document: Promise<any> } | undefined} */
let latest;

/**
 * Opens a PDF in a worker. Scripts of the document do not run.
 * @param {Blob} blob
 */
export async function openPdf(blob) {
  if (latest?.blob !== blob) latest = { blob, document: load(blob) };
  const document = await latest.document;
  return {
    /** @param {number} number from 1 @param {HTMLCanvasElement} canvas @param {number} width pixels */
    async draw(number, canvas, width) {
      const page = await document.getPage(number);
      const viewport = page.getViewport({ scale: width / page.getViewport({ scale: 1 }).width });
      canvas.width = Math.round(viewport.width);
      canvas.height = Math.round(viewport.height);
      await page.render({ canvas, viewport }).promise;
    },
  };
}

/** @param {Blob} blob */
async function load(blob) {
  const worker = new PDFWorker(/** @type {any} */ ({ port: startWorker() }));
  return getDocument({
    data: await blob.arrayBuffer(),
    worker,
    isEvalSupported: false,
    useWasm: false,
    stopAtErrors: false,
  }).promise;
}
