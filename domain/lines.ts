/**
 * The lines of a text in UTF-8, which end with a line feed alone: readers of terminals also end them at separators that JSON
 * may contain.
 */
export async function* linesOf(pieces: AsyncIterable<Buffer>): AsyncGenerator<string> {
  let rest: Buffer[] = [];
  for await (const piece of pieces) {
    let from = 0;
    for (let end = piece.indexOf(10); end !== -1; end = piece.indexOf(10, from)) {
      yield Buffer.concat([...rest, piece.subarray(from, end)]).toString('utf8');
      rest = [];
      from = end + 1;
    }
    rest.push(piece.subarray(from));
  }
  const last = Buffer.concat(rest);
  if (last.length > 0) yield last.toString('utf8');
}
