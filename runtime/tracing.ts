import { parseAllowedCidrs } from '../domain/address-rules.js';
import type { Config } from './config.js';
import type { Tracing } from './open-telemetry.js';

/**
 * Starts OpenTelemetry when OTEL_EXPORTER_OTLP_ENDPOINT is set. Its packages are loaded only then.
 * @param process part of `service.name`
 */
export async function startTracing(config: Config, process: 'api' | 'worker'): Promise<Tracing | undefined> {
  if (config.OTEL_EXPORTER_OTLP_ENDPOINT === undefined) return undefined;
  const { createTracing } = await import('./open-telemetry.js');
  return createTracing(`postback-${process}`, parseAllowedCidrs(config.POSTBACK_TRUSTED_PROXIES));
}
