import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const AGENTS = `
writer:
  role: Writer
  goal: Say what matters
  backstory: You write what the material says.
`;

const task = (name: string, rest = '') => `
${name}:
  description: 'Say what matters about this: {topic}'
  expected_output: One sentence
  agent: writer
${rest}`;

/** Crews that differ in one thing each, so that the difference of their costs is that thing's. */
const CREWS = {
  'one-task': task('first'),
  'two-tasks': task('first') + task('second'),
  'with-tool': task('first', '  tools: [query_database]\n'),
  'with-person': task('first', '  human_input: true\n'),
};

export type FootprintCrew = keyof typeof CREWS;

/** Writes them as a folder for `POSTBACK_CREWS_DIR`. */
export function writeCrews(folder: string): void {
  for (const [name, tasks] of Object.entries(CREWS)) {
    mkdirSync(join(folder, name), { recursive: true });
    writeFileSync(join(folder, name, 'agents.yaml'), AGENTS);
    writeFileSync(join(folder, name, 'tasks.yaml'), tasks);
  }
}
