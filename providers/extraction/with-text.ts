import { type Extraction, ExtractionError } from '../../domain/extraction.js';
import type { ExtractionLimits } from './limits.js';

/**
 * Leaves out sections that say nothing.
 * @throws ExtractionError E2004 when nothing is left, E2003 when too much is
 */
export function withText({ title, sections }: Extraction, limits: ExtractionLimits): Extraction {
  const spoken = sections.filter((section) => /[\p{L}\p{N}]/u.test(section.text));
  const characters = spoken.reduce((total, section) => total + section.text.length, 0);
  if (characters === 0) throw new ExtractionError('E2004');
  if (characters > limits.maxCharacters)
    throw new ExtractionError('E2003', `It has ${characters} characters, ${limits.maxCharacters} are allowed.`);
  return { title, sections: spoken };
}
