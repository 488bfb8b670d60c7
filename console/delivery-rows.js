import { DELIVERY_STATE_TABLE } from 'domain/webhooks/states.js';
import { html } from './html.js';
import { linkTo } from './router.js';
import { State, Time } from './ui.js';

/** @typedef {import('./api.js').Schemas['Delivery']} Delivery */

/** The deliveries of a record, with their states. @param {{ deliveries: Delivery[], nameOf: (delivery: Delivery) => string | null, kind?: string }} props */
export const DeliveryRows = ({ deliveries, nameOf, kind }) => html`
  <ul class="rows">
    ${deliveries.map(
      (delivery) => html`
        <li>
          <a href=${linkTo('deliveries', { kind, id: delivery.delivery_id })}>${nameOf(delivery)}</a>
          <span class="grow"><${State} of=${DELIVERY_STATE_TABLE} state=${delivery.status} /></span>
          <${Time} at=${delivery.updated_at} />
        </li>
      `,
    )}
  </ul>
`;
