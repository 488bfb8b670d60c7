import { describe, expect, test } from '@jest/globals';
import { withInput } from '../../activities/ai-jobs/job-input.js';
import { parseAllowedCidrs } from '../../domain/address-rules.js';
import { noCheckpoints } from '../../domain/checkpoints.js';
import { describeFile } from '../../providers/extraction/index.js';
import { createOutboundClient } from '../../providers/outbound/guarded-client.js';
import { identifySelf, isAlive } from '../../runtime/process-identity.js';
import { createScratch } from '../../storage/scratch.js';
import { duringTests } from '../support/during-tests.js';
import { startExtractor } from '../support/extractor.js';
import { temporaryFolder } from '../support/folder.js';
import { startHttpServer } from '../support/http-server.js';
import { aiJobRecord } from '../support/records.js';

describe('a job whose text is in a file', () => {
  const server = duringTests(() =>
    startHttpServer((_request, response) => response.end('<html><body><p>What a happy day.</p></body></html>')),
  );
  const outbound = duringTests(() => createOutboundClient({ allowedCidrs: parseAllowedCidrs('127.0.0.0/8') }));
  const extractor = duringTests(startExtractor);
  const scratch = createScratch({ dir: temporaryFolder('job-input'), self: identifySelf(), isAlive });

  test('has it read on behalf of its organisation, whose files take turns with those of others', async () => {
    const owners: (string | undefined)[] = [];
    const unused = {} as never;
    const job = aiJobRecord({
      org: 'job-input',
      now: new Date(),
      input: JSON.stringify({ file: `${server.url}/day` }),
    });
    const deps = {
      ...{ outbound, scratch, describeFile, uploads: unused, files: unused, checkpoints: { of: () => noCheckpoints } },
      ...{ maxFileBytes: 10_000, fetchTimeoutMs: 60_000 },
      extractor: {
        extract: (source: Parameters<typeof extractor.extract>[0], ...rest: [AbortSignal?]) => {
          owners.push(source.org);
          return extractor.extract(source, ...rest);
        },
      },
    };
    await withInput(deps, job, new AbortController().signal, async ({ input }) => {
      expect(input).toMatchObject({ text: 'What a happy day.' });
    });
    expect(owners).toEqual(['job-input']);
  });
});
