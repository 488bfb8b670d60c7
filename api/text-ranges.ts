import { z } from 'zod';

/** @param what the sentence that says which parts they are */
export function textRangesSchema(what: string) {
  return z.array(z.array(z.int().min(0)).length(2)).meta({
    description:
      `${what}, in order: the first UTF-16 code unit of each, and the one after its last, as \`text.slice(start, end)\` of ` +
      'JavaScript takes them.',
    examples: [[[4, 9]]],
  });
}
