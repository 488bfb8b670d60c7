/** Jest's own test runner, whose package has no types for this entry. */
declare module 'jest-circus/runner' {
  export interface TestRuntime {
    unstable_shouldLoadAsEsm(path: string): boolean;
    unstable_importModule(path: string): Promise<unknown>;
    requireModuleOrMock(from: string, moduleName: string): unknown;
  }

  export type TestRunner = (
    globalConfig: object,
    config: object,
    environment: { global: Record<string, unknown> },
    runtime: TestRuntime,
    testPath: string,
    sendMessageToJest?: (...args: unknown[]) => void,
  ) => Promise<object>;

  const runner: { default: TestRunner };
  export default runner;
}
