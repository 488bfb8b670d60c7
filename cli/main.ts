import { runProcess } from '../runtime/process.js';
import { createProgram } from './program.js';

await runProcess(() => createProgram().parseAsync());
