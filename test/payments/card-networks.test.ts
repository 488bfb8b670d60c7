import { describe, expect, test } from '@jest/globals';
import { duringTests } from '../support/during-tests.js';
import { createMerchant, errorOf } from '../support/payments.js';
import { sharedProduct, startApi } from '../support/product.js';

describe('card networks with configured names', () => {
  const product = sharedProduct();
  const api = duringTests(
    () => startApi(product, { POSTBACK_CARD_NETWORKS: 'visa, mastercard' }),
    (started) => started.stop(),
  );
  const PRESENT = { consumerPresent: true };

  test('are accepted under both names, and shown as they were sent', async () => {
    const merchant = await createMerchant({ ...product, apiUrl: api.apiUrl }, 'card-networks');
    for (const sent of [
      { visa: PRESENT, network_b: {} },
      { network_a: PRESENT, mastercard: {} },
    ]) {
      const started = await merchant.start();
      expect((await merchant.check(started, sent)).body.sdk_next_action).toBe('await_merchant_callback');
      const { eligibility_check: check } = (await merchant.server('GET', `/authentication/${started.id}`)).body;
      expect(check.eligibility_check_data.click_to_pay).toEqual(sent);
      const [present] = check.reasons.filter(({ signal }: { signal: string }) => signal === 'consumer_present');
      expect(present.network).toBe(Object.keys(sent)[0]);
      // The same check in the other words.
      const other = { network_a: PRESENT, network_b: {} };
      expect((await merchant.check(started, other)).body.sdk_next_action).toBe('await_merchant_callback');
    }
  });

  test('are not given under a name that is null', async () => {
    const merchant = await createMerchant({ ...product, apiUrl: api.apiUrl }, 'card-networks');
    const checked = await merchant.check(await merchant.start(), { visa: PRESENT, network_a: null, network_b: null });
    expect(checked.body.sdk_next_action).toBe('await_merchant_callback');
  });

  test('are rejected under both names at once, and under a name that nobody knows', async () => {
    const merchant = await createMerchant({ ...product, apiUrl: api.apiUrl }, 'card-networks');
    const started = await merchant.start();
    for (const networks of [
      { visa: PRESENT, network_a: PRESENT },
      { amex: PRESENT, visa: PRESENT },
    ]) {
      const rejected = await merchant.check(started, networks);
      expect(errorOf(rejected)).toEqual([422, 'invalid_request_error', 'VALIDATION_ERROR']);
    }
  });
});
