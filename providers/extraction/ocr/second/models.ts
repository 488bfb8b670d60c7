import { readFileSync } from 'node:fs';
import { access } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import type { InferenceSession } from 'onnxruntime-node';

/** In the folder of OCR's languages; `postback recogniser fetch` puts the models there. */
export const MODELS_FOLDER = 'pp-ocrv6-small';
export const MODEL_FILES = { findsLines: 'PP-OCRv6_det_small.onnx', readsLines: 'PP-OCRv6_rec_small.onnx' } as const;

/** @param languagesDir the folder of OCR's languages. @returns the folder of the models; null where they are missing */
export async function findModels(languagesDir: string): Promise<string | null> {
  const folder = resolve(languagesDir, MODELS_FOLDER);
  try {
    for (const file of Object.values(MODEL_FILES)) await access(join(folder, file));
    return folder;
  } catch {
    return null;
  }
}

export interface Models {
  findsLines: InferenceSession;
  readsLines: InferenceSession;
  /** The file of the second one, which also has its alphabet. */
  file: Buffer;
}

/** Loads the models, 0.3 s. Only a process without other work does so, because a model at work blocks it. */
export async function loadModels(folder: string): Promise<Models> {
  // Onnxruntime reports its use to its maker unless this is set before the library is loaded.
  process.env.ORT_DISABLE_TELEMETRY = '1';
  const { InferenceSession } = await import('onnxruntime-node');
  const start = (model: Buffer) =>
    InferenceSession.create(model, {
      // Less memory, and a few percent slower.
      enableCpuMemArena: false,
      enableMemPattern: false,
      intraOpNumThreads: 1,
      logSeverityLevel: 3,
    });
  const file = readFileSync(join(folder, MODEL_FILES.readsLines));
  const findsLines = await start(readFileSync(join(folder, MODEL_FILES.findsLines)));
  return { findsLines, readsLines: await start(file), file };
}
