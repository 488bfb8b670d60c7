/**
 * Loaded before the API and the worker of test products (`--import`): writes the form of each filter that does not name its
 * shard, and of each query by which a transaction spans shards, to the file `POSTBACK_TEST_FILTERS`, each once for a process. `organisation-in-filters.test.ts` judges them.
 */
import { appendFileSync } from 'node:fs';
import { isMainThread } from 'node:worker_threads';
import type { FilterForm } from './recorded-filters.js';

const file = process.env.POSTBACK_TEST_FILTERS;
if (file !== undefined && isMainThread && /\/(api|worker)\/main\.js$/.test(process.argv[1] ?? '')) {
  const [{ MongoClient }, { filtersOf, formOf, namesShard, watchTransactions }] = await Promise.all([
    import('mongodb'),
    import('./recorded-filters.js'),
  ]);
  const written = new Set<string>();
  const write = (form: FilterForm) => {
    const line = JSON.stringify(form);
    if (written.has(line)) return;
    written.add(line);
    appendFileSync(file, `${line}\n`);
  };
  const connect = MongoClient.prototype.connect;
  const watched = new WeakSet<object>();
  MongoClient.prototype.connect = function (this: InstanceType<typeof MongoClient>) {
    if (!watched.has(this)) {
      watched.add(this);
      (this as unknown as { monitorCommands: boolean }).monitorCommands = true;
      this.on('commandStarted', (event) => {
        for (const filter of filtersOf(event)) if (!namesShard(filter)) write(formOf(filter));
      });
      this.on('commandStarted', watchTransactions(write));
    }
    return connect.call(this);
  };
}
