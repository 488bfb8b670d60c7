import { html } from './html.js';

/** Paths on a grid of 24, drawn as lines. */
const PATHS = {
  overview: 'M3 13h8V3H3zM13 21h8V11h-8zM3 21h8v-6H3zM13 9h8V3h-8z',
  items: 'M6 2h8l5 5v15H6zM14 2v5h5M9 13h7M9 17h7',
  search: 'M11 4a7 7 0 1 0 0 14 7 7 0 0 0 0-14zM16.2 16.2 21 21',
  deliveries: 'M21 3 10 14M21 3l-7 18-4-7-7-4z',
  webhooks: 'M8 11a4 4 0 1 1 6.8-2.8L17 13M16 13a4 4 0 1 1-2.8 6.8M5 14.2A4 4 0 1 0 12 18h5',
  jobs: 'M13 2 4 14h7l-1 8 9-12h-7z',
  crews: 'M9 11a4 4 0 1 0 0-8 4 4 0 0 0 0 8zM2 21a7 7 0 0 1 14 0M17 11a3 3 0 1 0-1-5.8M18 14.5a6 6 0 0 1 4 5.5',
  payments: 'M3 6h18v12H3zM3 10h18M7 15h4',
  connectors: 'M9 15 15 9M10.5 6.5l2-2a4.2 4.2 0 0 1 6 6l-2 2M13.5 17.5l-2 2a4.2 4.2 0 0 1-6-6l2-2',
  usage: 'M4 20a8.9 8.9 0 1 1 16 0M12 14l4-5',
  keys: 'M8 11a4 4 0 1 0 0 8 4 4 0 0 0 0-8zM11 12l9-9M16 7l3 3M13 10l2 2',
  audit: 'M5 3h14v18H5zM9 8h6M9 12h6M9 16h3',
  theme: 'M12 3a9 9 0 1 0 0 18zM12 3a9 9 0 0 1 0 18',
  light:
    'M12 8a4 4 0 1 0 0 8 4 4 0 0 0 0-8zM12 2v2M12 20v2M4.9 4.9l1.4 1.4M17.7 17.7l1.4 1.4M2 12h2M20 12h2M4.9 19.1l1.4-1.4M17.7 6.3l1.4-1.4',
  dark: 'M20 14.5A8.5 8.5 0 0 1 9.5 4 8.5 8.5 0 1 0 20 14.5z',
  keyboard: 'M3 6h18v12H3zM7 10h.01M11 10h.01M15 10h.01M8 14h8',
  leave: 'M14 4h5v16h-5M4 12h11M11 8l4 4-4 4',
  remove: 'M4 7h16M9 7V4h6v3M6 7l1 14h10l1-14M10 11v6M14 11v6',
  close: 'M6 6l12 12M18 6 6 18',
  external: 'M14 4h6v6M20 4l-9 9M18 14v6H4V6h6',
  retry: 'M20 11a8 8 0 1 0-2.3 6.3M20 4v7h-7',
  check: 'M5 13l4 4L19 7',
};

/** @param {{ name: keyof typeof PATHS }} props */
export const Icon = ({ name }) => html`
  <svg class="icon" viewBox="0 0 24 24" aria-hidden="true"><path d=${PATHS[name]} /></svg>
`;
