import { buildGraph } from '../../providers/graph/build-graph.js';
import { HALVES, type Paragraph, readParagraphs } from './labelled.js';
import { precision, recall, type Score, scoreOf, sum } from './score.js';

/** Reads all paragraphs so often that the time of one round is no matter of chance. */
const ROUNDS = 20;

const read = ({ text }: Paragraph) => buildGraph([{ chunk_id: 'paragraph', text }]);

/**
 * Prints how many relations of the graph are true and how many of the possible are found, by kind of text and for both
 * halves of the paragraphs, and the processor time per 1,000 characters.
 */
export async function graph(): Promise<void> {
  const paragraphs = readParagraphs();
  const kinds = [...new Set(paragraphs.map(({ kind }) => kind))];
  for (const half of HALVES) {
    const ofHalf = paragraphs.filter((paragraph) => paragraph.half === half);
    console.log(`\n${half}, ${ofHalf.length} paragraphs`);
    for (const kind of kinds) print(kind, scores(ofHalf.filter((paragraph) => paragraph.kind === kind)));
    print('all', scores(ofHalf));
  }
  const characters = paragraphs.reduce((total, { text }) => total + text.length, 0) * ROUNDS;
  const before = process.cpuUsage();
  for (let round = 0; round < ROUNDS; round++) paragraphs.forEach(read);
  const { user, system } = process.cpuUsage(before);
  // Microseconds per character are milliseconds per 1,000.
  console.log(`\n${((user + system) / characters).toFixed(2)} ms of processor time per 1,000 characters`);
}

const scores = (paragraphs: Paragraph[]) => sum(paragraphs.map((paragraph) => scoreOf(paragraph, read(paragraph))));

function print(name: string, score: Score): void {
  const { right, stated, found, possible } = score;
  const columns = [
    `precision ${precision(score).toFixed(2)} (${right} of ${stated})`.padEnd(32),
    `recall ${recall(score).toFixed(2)} (${found} of ${possible})`,
  ];
  console.log(`${name.padEnd(12)}${columns.join('')}`);
}
