/** @returns the number of characters that are inserted, deleted or replaced, as a share of the text */
export function characterErrors(read: string, text: string): number {
  const [a, b] = [normal(read), normal(text)];
  let above = Array.from({ length: b.length + 1 }, (_, at) => at);
  for (let row = 1; row <= a.length; row++) {
    const line = [row];
    for (let at = 1; at <= b.length; at++) {
      const replaced = above[at - 1]! + (a[row - 1] === b[at - 1] ? 0 : 1);
      line.push(Math.min(replaced, above[at]! + 1, line[at - 1]! + 1));
    }
    above = line;
  }
  return above[b.length]! / b.length;
}

const normal = (text: string) => text.replace(/\s+/g, ' ').trim();
