import { createProcessPool } from '../../providers/isolation/pool.js';
import type { Behaviour } from './hostile-work.js';

/** Keeps a child process busy, reports its pid, and is killed by the test. */
const worker = new URL('./hostile-work.js', import.meta.url);
const pool = createProcessPool<Behaviour, number>({ worker, processes: 1, memoryMb: 64, timeoutMs: 600_000 });
process.send!(await pool.run('pid'));
void pool.run('spin');
