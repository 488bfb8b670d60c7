/** Deliveries a second of other servers for webhooks, measured on two cores on another day. */
export const PEERS: Readonly<Record<string, number>> = {
  'Hookdeck Outpost: publish to receipt': 1_095,
  'Hookdeck Outpost: its own queue, drained': 2_130,
  // 680 to 780.
  'Svix: publish to receipt': 730,
};
