import { render } from 'preact';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { useChanging } from './changes.js';
import { Dialog } from './dialogs.js';
import { html } from './html.js';
import { Icon } from './icons.js';
import { Notices } from './notices.js';
import { Organisation } from './organisation.js';
import { Audit } from './pages/audit.js';
import { Connectors } from './pages/connectors.js';
import { Crews } from './pages/crews.js';
import { Deliveries } from './pages/deliveries.js';
import { Items } from './pages/items.js';
import { Jobs } from './pages/jobs.js';
import { Keys } from './pages/keys.js';
import { Overview } from './pages/overview.js';
import { Payments } from './pages/payments.js';
import { Search } from './pages/search.js';
import { SignIn } from './pages/sign-in.js';
import { Usage } from './pages/usage.js';
import { Webhooks } from './pages/webhooks.js';
import { go, linkTo, useRoute } from './router.js';
import { session } from './session.js';
import { applyTheme, nextTheme, setTheme, theme } from './theme.js';
import { Empty, Page } from './ui.js';

/** The pages in the order of the navigation. `key`: what follows `g` on the keyboard. */
const PAGES = /** @type {const} */ ([
  { id: 'overview', title: 'Overview', key: 'o', page: Overview, needs: 'any' },
  { id: 'items', title: 'Items', key: 'i', page: Items, needs: 'api' },
  { id: 'search', title: 'Search', key: 's', page: Search, needs: 'api' },
  { id: 'deliveries', title: 'Deliveries', key: 'd', page: Deliveries, needs: 'api' },
  { id: 'webhooks', title: 'Webhooks', key: 'w', page: Webhooks, needs: 'api' },
  { id: 'jobs', title: 'Jobs', key: 'j', page: Jobs, needs: 'api' },
  { id: 'crews', title: 'Crews', key: 'c', page: Crews, needs: 'crew' },
  { id: 'payments', title: 'Payments', key: 'p', page: Payments, needs: 'payment' },
  { id: 'connectors', title: 'Connectors', key: 'n', page: Connectors, needs: 'api' },
  { id: 'usage', title: 'Usage', key: 'u', page: Usage, needs: 'api' },
  { id: 'keys', title: 'Keys', key: 'k', page: Keys, needs: 'api' },
  { id: 'audit', title: 'Audit', key: 'a', page: Audit, needs: 'api' },
]);

function Console() {
  const signedIn = useChanging(session.onChange, session.isSignedIn);
  const route = useRoute();
  const [helps, setHelps] = useState(false);
  const main = useRef(/** @type {HTMLElement | null} */ (null));
  const opened = useRef(route.page);
  useEffect(() => {
    // A new page is announced by its title, and scrolled to its top.
    if (opened.current === route.page) return;
    opened.current = route.page;
    scrollTo(0, 0);
    main.current?.querySelector('h1')?.focus();
  }, [route.page]);
  useShortcuts(signedIn, () => setHelps(true));

  if (!signedIn) return html`<main class="sign-in"><${SignIn} /></main>`;
  const found = PAGES.find(({ id }) => id === route.page);
  return html`
    <a class="skip" href="#main" onClick=${skipTo(main)}>Skip to content</a>
    <${Navigation} current=${route.page} onHelp=${() => setHelps(true)} />
    <main id="main" tabindex="-1" ref=${main}>
      <${Notices} />
      ${found ? html`<${PageOrKey} entry=${found} parameters=${route.parameters} />` : html`<${Unknown} />`}
    </main>
    ${helps && html`<${Shortcuts} onClose=${() => setHelps(false)} />`}
  `;
}

/** @param {{ entry: typeof PAGES[number], parameters: Record<string, string> }} props */
function PageOrKey({ entry, parameters }) {
  if (entry.needs === 'any' || session.key(entry.needs) !== null)
    return html`<${entry.page} parameters=${parameters} />`;
  return html`<${SignIn} slot=${entry.needs} title=${entry.title} />`;
}

const Unknown = () => html`
  <${Page} title="No such page">
    <${Empty} title="This address has no page."><a href=${linkTo('overview')}>Go to the overview</a></${Empty}>
  </${Page}>
`;

/** @param {{ current: string, onHelp: () => void }} props */
function Navigation({ current, onHelp }) {
  const [chosen, setChosen] = useState(theme);
  const pages = useRef(/** @type {HTMLElement | null} */ (null));
  // On a narrow screen the list of pages scrolls sideways.
  useEffect(() => {
    pages.current?.querySelector('[aria-current]')?.scrollIntoView({ block: 'nearest', inline: 'center' });
  }, [current]);
  const next = () => {
    setTheme(nextTheme());
    setChosen(theme());
  };
  return html`
    <header class="sidebar">
      <a class="brand" href=${linkTo('overview')}><img src="/console/icon.svg" alt="" width="24" height="24" />Postback</a>
      <${Organisation} />
      <nav aria-label="Pages" ref=${pages}>
        ${PAGES.map(
          ({ id, title }) => html`
            <a href=${linkTo(id)} aria-current=${id === current ? 'page' : undefined}><${Icon} name=${id} />${title}</a>
          `,
        )}
      </nav>
      <div class="sidebar-end">
        <button type="button" class="quiet" onClick=${next} aria-label="Colours: ${chosen}" title="Colours: ${chosen}">
          <${Icon} name=${chosen === 'system' ? 'theme' : chosen} /><span>${chosen}</span>
        </button>
        <button type="button" class="quiet wide" onClick=${onHelp} aria-label="Keyboard shortcuts" title="Keyboard shortcuts (?)">
          <${Icon} name="keyboard" /><span>shortcuts</span>
        </button>
        <button type="button" class="quiet" onClick=${() => session.signOut()} aria-label="Sign out" title="Sign out">
          <${Icon} name="leave" /><span>sign out</span>
        </button>
      </div>
    </header>
  `;
}

/** @param {{ onClose: () => void }} props */
const Shortcuts = ({ onClose }) => html`
  <${Dialog} title="Keyboard shortcuts" onClose=${onClose}>
    <dl class="shortcuts">
      ${PAGES.map(({ title, key }) => html`<div><dt><kbd>g</kbd> <kbd>${key}</kbd></dt><dd>${title}</dd></div>`)}
      <div><dt><kbd>/</kbd></dt><dd>Ask a question</dd></div>
      <div><dt><kbd>↓</kbd> <kbd>↑</kbd></dt><dd>Next and previous row</dd></div>
      <div><dt><kbd>Enter</kbd></dt><dd>Open a row</dd></div>
      <div><dt><kbd>Esc</kbd></dt><dd>Close a panel</dd></div>
      <div><dt><kbd>?</kbd></dt><dd>This list</dd></div>
    </dl>
  </${Dialog}>
`;

/** @param {boolean} enabled @param {() => void} onHelp */
function useShortcuts(enabled, onHelp) {
  const help = useRef(onHelp);
  help.current = onHelp;
  // Before the page is painted, so that no key is lost that is pressed as soon as the page shows.
  useLayoutEffect(() => {
    if (!enabled) return;
    let leads = false;
    /** @param {KeyboardEvent} event */
    const onKeyDown = (event) => {
      const target = /** @type {HTMLElement} */ (event.target);
      if (event.ctrlKey || event.metaKey || event.altKey || target.closest('input, textarea, select, dialog')) return;
      const page = leads && PAGES.find(({ key }) => key === event.key);
      leads = event.key === 'g';
      if (page) go(page.id);
      else if (event.key === '/') go('search');
      else if (event.key === '?') help.current();
      else return;
      event.preventDefault();
    };
    addEventListener('keydown', onKeyDown);
    return () => removeEventListener('keydown', onKeyDown);
  }, [enabled]);
}

/** The fragment of the address is the page, so the link must not change it. @param {{ current: HTMLElement | null }} main */
const skipTo = (main) => (/** @type {Event} */ event) => {
  event.preventDefault();
  main.current?.focus();
};

applyTheme();
render(html`<${Console} />`, /** @type {HTMLElement} */ (document.getElementById('console')));
