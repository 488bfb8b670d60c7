/**
 * Loaded before Jest and before the processes of test products (`--import`). V8 compiles code again, fully optimised, that
 * has run for a while. Most processes of tests end before that has paid for itself, so it starts after sixty times as many
 * calls. Set here, because Node does not start with an argument that its V8 does not know.
 */
import { setFlagsFromString } from 'node:v8';

setFlagsFromString('--invocation-count-for-turbofan=180000');
setFlagsFromString('--invocation-count-for-osr=30000');
