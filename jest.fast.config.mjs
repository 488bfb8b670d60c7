import { SLOW_FILES } from './dist/test/support/slow-files.js';
import everything from './jest.config.mjs';

/** The tests without the slow files, for the loop while writing. */
export default { ...everything, testPathIgnorePatterns: [`/test/(${SLOW_FILES.join('|')})\\.test\\.js$`] };
