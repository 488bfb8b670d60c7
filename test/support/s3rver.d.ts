declare module 's3rver' {
  import type { Server } from 'node:http';
  import type { Middleware } from 'koa';

  export default class S3rver {
    constructor(options: {
      port: number;
      address: string;
      silent: boolean;
      directory: string;
      configureBuckets: { name: string }[];
    });
    run(): Promise<{ port: number }>;
    close(): Promise<void>;
    readonly middleware: Middleware[];
    /** There once it runs. */
    readonly httpServer: Server;
  }
}
