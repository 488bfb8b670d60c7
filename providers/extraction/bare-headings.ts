import type { ExtractedSection } from '../../domain/extraction.js';

/**
 * Joins each section that is nothing but its heading, such as a slide between two parts, to the next section: a heading alone
 * says too little to be found. The last ones are joined to the section before. A document of headings alone stays a text.
 */
export function withoutBareHeadings(sections: readonly ExtractedSection[]): ExtractedSection[] {
  const joined: ExtractedSection[] = [];
  let bare: ExtractedSection[] = [];
  const close = () => {
    const last = joined.at(-1);
    if (bare.length > 0) {
      if (last?.attachment !== bare[0]!.attachment || joined.length === 0) joined.push(outline(bare));
      else if (!last!.rows) joined[joined.length - 1] = { ...last!, text: [last!.text, linesOf(bare)].join('\n\n') };
    }
    bare = [];
  };
  for (const section of sections) {
    if (section.attachment !== bare[0]?.attachment) close();
    if (isBare(section)) bare.push(section);
    else {
      joined.push(below(bare, section));
      bare = [];
    }
  }
  close();
  return joined;
}

function isBare({ text, headings, rows, code }: ExtractedSection): boolean {
  return !rows && !code && headings.length > 0 && text.replace(/\s+/g, ' ').trim() === headings.at(-1);
}

function outline(bare: readonly ExtractedSection[]): ExtractedSection {
  return { ...bare[0]!, text: linesOf(bare), headings: [] };
}

/** A heading that the section has above it anyway is not repeated. */
function below(bare: readonly ExtractedSection[], section: ExtractedSection): ExtractedSection {
  const above = bare.filter(({ text }) => !section.headings.includes(text.replace(/\s+/g, ' ').trim()));
  if (above.length === 0) return section;
  if (section.rows) return { ...section, headings: [...above.map(({ text }) => text), ...section.headings] };
  const front = `${linesOf(above)}\n\n`;
  const { code } = section;
  return {
    ...section,
    text: front + section.text,
    ...(code && { code: code.map(([start, end]) => [start + front.length, end + front.length]) }),
  };
}

const linesOf = (bare: readonly ExtractedSection[]) => bare.map(({ text }) => text).join('\n');
