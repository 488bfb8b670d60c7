import { type AiProvider, ProviderError } from '../../domain/ai-provider.js';
import { ExtractionError } from '../../domain/extraction.js';
import type { Extractor } from '../extraction/index.js';
import { asProviderError, fileFailure } from './file-failure.js';

const HEARTBEAT_MS = 3_000;

/** The text of a document by the parsers that ingestion uses. */
export function createLocalTextExtraction(extractor: Extractor): AiProvider<'document/text_extraction'> {
  return {
    subfeature: 'document/text_extraction',
    name: 'local',
    models: null,
    async run({ file: { path, kind, filename } }, _options, signal, heartbeat) {
      if (kind === 'audio' || kind === 'unknown')
        throw new ProviderError(
          'The file format is not supported. Accepted: PDF, Office documents, images, CSV, HTML, Markdown, JSON and text.',
          false,
        );
      // The extractor's own time limit ends what hangs.
      const beating = setInterval(heartbeat, HEARTBEAT_MS);
      try {
        const extraction = await extractor.extract({ path, kind, filename }, signal);
        const sections = extraction.sections.map(({ text, headings, page = null, sheet = null }) => ({
          text,
          headings,
          page,
          sheet,
        }));
        const text = sections.map((section) => section.text).join('\n\n');
        return { output: { title: extraction.title, text, sections }, original: extraction };
      } catch (error) {
        const scan = kind === 'pdf' && error instanceof ExtractionError && error.code === 'E2004';
        throw scan ? fileFailure('E2004', 'If it is a scan, ask for ocr/ocr_async.') : asProviderError(error);
      } finally {
        clearInterval(beating);
      }
    },
  };
}
