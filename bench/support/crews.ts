import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const AGENTS = `
writer:
  role: Writer
  goal: Say what matters
  backstory: You write what the material says.
`;

const task = (name: string, options = '') => `
${name}:
  description: 'Say what matters about this: {topic}'
  expected_output: One sentence
  agent: writer
${options}`;

/** Each crew differs from `one-task` in one thing, so that the difference in cost is the cost of that thing. */
const CREWS = {
  'one-task': task('first'),
  'two-tasks': task('first') + task('second'),
  'with-tool': task('first', '  tools: [query_database]\n'),
  'with-person': task('first', '  human_input: true\n'),
};

export type BenchCrew = keyof typeof CREWS;
export const BENCH_CREWS = Object.keys(CREWS) as BenchCrew[];

/** Writes the crews to a folder for `POSTBACK_CREWS_DIR`. */
export function writeCrews(folder: string): void {
  for (const [name, tasks] of Object.entries(CREWS)) {
    mkdirSync(join(folder, name), { recursive: true });
    writeFileSync(join(folder, name, 'agents.yaml'), AGENTS);
    writeFileSync(join(folder, name, 'tasks.yaml'), tasks);
  }
}
