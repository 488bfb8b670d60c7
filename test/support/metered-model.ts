import { beforeEach } from '@jest/globals';
import { ProviderError } from '../../domain/errors.js';
import { duringTests } from './during-tests.js';
import { startOpenAiServer } from './openai-server.js';

/** A model's server for the tests of a file or block, and what its client counts and logs, which each test finds empty. */
export function meteredModelDuringTests() {
  const server = duringTests(startOpenAiServer);
  /** The tokens that were counted, with their organisation. */
  const counted: [string, number][] = [];
  const logged: object[] = [];
  /** Whether organisations have tokens left. */
  const quota = { admits: true };

  beforeEach(() => {
    counted.length = 0;
    logged.length = 0;
    server.requests.length = 0;
    quota.admits = true;
  });

  return {
    server,
    counted,
    logged,
    quota,
    /** What a client of the model gets passed in. */
    dependencies: {
      meterOf: (org: string) => ({
        async admit() {
          if (!quota.admits) throw new ProviderError('used up', false);
        },
        async count(tokens: number) {
          counted.push([org, tokens]);
        },
      }),
      log: { warn: (details: object) => void logged.push(details) },
    },
  };
}
