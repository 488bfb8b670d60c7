/**
 * Loaded before the API and the worker of test products (`--import`): writes the form of each filter that does not name its
 * shard to the file `POSTBACK_TEST_FILTERS`, each once for a process. `organisation-in-filters.test.ts` judges them.
 */
import { appendFileSync } from 'node:fs';
import { isMainThread } from 'node:worker_threads';

const file = process.env.POSTBACK_TEST_FILTERS;
if (file !== undefined && isMainThread && /\/(api|worker)\/main\.js$/.test(process.argv[1] ?? '')) {
  const [{ MongoClient }, { filtersOf, formOf, namesShard }] = await Promise.all([
    import('mongodb'),
    import('./recorded-filters.js'),
  ]);
  const written = new Set<string>();
  const connect = MongoClient.prototype.connect;
  const watched = new WeakSet<object>();
  MongoClient.prototype.connect = function (this: InstanceType<typeof MongoClient>) {
    if (!watched.has(this)) {
      watched.add(this);
      (this as unknown as { monitorCommands: boolean }).monitorCommands = true;
      this.on('commandStarted', (event) => {
        for (const filter of filtersOf(event)) {
          if (namesShard(filter)) continue;
          const form = JSON.stringify(formOf(filter));
          if (written.has(form)) continue;
          written.add(form);
          appendFileSync(file, `${form}\n`);
        }
      });
    }
    return connect.call(this);
  };
}
