import { readFileSync } from 'node:fs';
import { describe, expect, test } from '@jest/globals';
import { DECISION_SIGNALS, DECISION_TABLE, decideEligibility } from '../../domain/payments/eligibility-decision.js';

const NOW = new Date('2026-03-01T12:00:00Z');

describe('the decision table of the eligibility check', () => {
  const decide = (click_to_pay: Parameters<typeof decideEligibility>[0]['click_to_pay']) => {
    const { sdk_next_action, reasons } = decideEligibility({ click_to_pay }, NOW);
    return [sdk_next_action, ...reasons.map(({ network, signal }) => `${network.at(-1)}:${signal}`)];
  };

  test('only the presence of the consumer decides', () => {
    expect(decide({ network_a: { consumerPresent: true } })[0]).toBe('await_merchant_callback');
    expect(decide({ network_a: { consumerPresent: false }, network_b: { consumerPresent: true } })[0]).toBe(
      'await_merchant_callback',
    );
    expect(decide({ network_b: { consumerPresent: false, lastUsedCardTimestamp: '2026-02-01T00:00:00Z' } })[0]).toBe(
      'proceed',
    );
    expect(decide({ network_a: { consumerStatus: 'CONSUMER_PRESENT' } })[0]).toBe('proceed');
  });

  test('each signal is a reason', () => {
    expect(
      decide({ network_a: { consumerPresent: false, consumerStatus: 'x', customData: { language: 'de' } } }),
    ).toEqual(['proceed', 'a:consumer_absent', 'a:consumer_status_given', 'a:device_described']);
    expect(decide({ network_a: { consumerStatus: ' ', customData: {} } })).toEqual([
      'proceed',
      'a:presence_unknown',
      'a:device_unknown',
    ]);
    expect(decide({ network_b: { consumerPresent: true, idLookupSessionId: 's' } })).toEqual([
      'await_merchant_callback',
      'b:consumer_present',
      'b:consumer_looked_up',
    ]);
  });

  test.each([
    ['2026-02-28T08:00:00Z', 'b:card_used_before'],
    ['1772200000', 'b:card_used_before'],
    ['1772200000000', 'b:card_used_before'],
    ['2027-01-01T00:00:00Z', 'b:card_time_invalid'],
    ['some time ago', 'b:card_time_invalid'],
  ])('a card that was last used at %s gives %s', (lastUsedCardTimestamp, reason) => {
    expect(decide({ network_b: { consumerPresent: true, lastUsedCardTimestamp } })).toContain(reason);
  });

  test('docs/payments.md shows the table', () => {
    const page = readFileSync('docs/payments.md', 'utf8');
    const section = page.split('## How a check is decided')[1]!.split('\n## ')[0]!;
    const rows = [...section.matchAll(/^\| `(\w+)` +\| (.*?) +\| (.*?) +\| (.*?) +\|$/gm)].map((row) => row.slice(1));
    expect(rows).toEqual(
      DECISION_SIGNALS.map((signal) => {
        const { networks, means, effect } = DECISION_TABLE[signal];
        return [signal, networks.join(', '), means, effect === 'none' ? '' : `\`${effect}\``];
      }),
    );
  });
});
