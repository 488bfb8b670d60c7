const segmenter = new Intl.Segmenter(undefined, { granularity: 'word' });
const STOP_WORDS = new Set(
  'a an and are as at be by do does for from how in is it of on or that the to what when where which who why with'.split(
    ' ',
  ),
);

/**
 * The text in pieces, with the words of the question marked. Roughly: the search itself knows more forms of a word.
 * @param {string} text
 * @param {string} question
 * @returns {{ text: string, marked: boolean }[]}
 */
export function highlight(text, question) {
  const asked = new Set(
    Array.from(segmenter.segment(question))
      .filter(({ segment, isWordLike }) => isWordLike && !STOP_WORDS.has(segment.toLowerCase()))
      .map(({ segment }) => stem(segment)),
  );
  /** @type {{ text: string, marked: boolean }[]} */
  const pieces = [];
  for (const { segment, isWordLike } of segmenter.segment(text)) {
    const marked = Boolean(isWordLike) && asked.has(stem(segment));
    const last = pieces.at(-1);
    if (last && last.marked === marked) last.text += segment;
    else pieces.push({ text: segment, marked });
  }
  return pieces;
}

/** @param {string} word */
const stem = (word) => word.toLowerCase().slice(0, Math.max(4, word.length - 3));
