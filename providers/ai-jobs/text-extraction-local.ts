import type { AiProvider } from '../../domain/ai-jobs/provider.js';
import { ProviderError } from '../../domain/errors.js';
import type { Extractor } from '../extraction/index.js';
import { asProviderError } from './file-failure.js';

const HEARTBEAT_MS = 3_000;

/** The text of a document by the parsers that ingestion uses, scanned pages by OCR. */
export function createLocalTextExtraction(extractor: Extractor): AiProvider<'document/text_extraction'> {
  return {
    subfeature: 'document/text_extraction',
    name: 'local',
    models: null,
    async run({ file: { path, kind, filename } }, { checkpoints }, signal, heartbeat) {
      if (kind === 'audio' || kind === 'unknown')
        throw new ProviderError(
          'The file format is not supported. Accepted: PDF, Office documents, images, CSV, HTML, Markdown, JSON and text.',
          false,
        );
      // The extractor's own time limit ends what hangs.
      const beating = setInterval(heartbeat, HEARTBEAT_MS);
      try {
        const extraction = await extractor.extract({ path, kind, filename }, signal, checkpoints);
        const sections = extraction.sections.map(({ text, headings, page, slide, sheet = null }) => ({
          text,
          headings,
          page: page ?? slide ?? null,
          sheet,
        }));
        const text = sections.map((section) => section.text).join('\n\n');
        return { output: { title: extraction.title, text, sections }, original: extraction };
      } catch (error) {
        throw asProviderError(error);
      } finally {
        clearInterval(beating);
      }
    },
  };
}
