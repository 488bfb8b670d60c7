import { existsSync } from 'node:fs';

/** How people call this installation. An installed package has no npm scripts, and its documents lie elsewhere. */
export const COMMANDS = existsSync(new URL('../../tsconfig.json', import.meta.url))
  ? { postback: './postback', start: 'npm start', demo: 'npm run demo', examples: 'examples' }
  : {
      postback: 'npx postback',
      start: 'npx postback start',
      demo: 'npx postback demo',
      examples: 'node_modules/postback/examples',
    };
