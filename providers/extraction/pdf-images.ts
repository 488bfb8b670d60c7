/** Dictionaries of pictures are short; what stands further off belongs to something else. */
const REACH = 1_000;
const WIDTH = Buffer.from('/Width');

/**
 * The most pixels that a picture in a PDF claims to have. A renderer would have to decode them all, or would leave the
 * picture out and show an empty page. Pictures never lie in compressed objects, so their sizes can be read off the file.
 */
export function largestPicture(pdf: Buffer): { width: number; height: number } {
  let largest = { width: 0, height: 0 };
  for (let at = pdf.indexOf(WIDTH); at !== -1; at = pdf.indexOf(WIDTH, at + WIDTH.length)) {
    const width = /^\/Width\s+(\d{1,9})\b/.exec(pdf.toString('latin1', at, at + 40))?.[1];
    const height = width && heightBeside(pdf, at);
    if (height && Number(width) * Number(height) > largest.width * largest.height)
      largest = { width: Number(width), height: Number(height) };
  }
  return largest;
}

/** The height in the same dictionary, before or after the width. */
function heightBeside(pdf: Buffer, at: number): string | undefined {
  const before = pdf
    .toString('latin1', Math.max(0, at - REACH), at)
    .split(/\bobj\b/)
    .at(-1)!;
  const after = pdf.toString('latin1', at, at + REACH).split(/\b(?:endobj|stream)\b/)[0]!;
  return /\/Height\s+(\d{1,9})\b/.exec(`${before} ${after}`)?.[1];
}
