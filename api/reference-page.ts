import { navigation } from './guides.js';

/**
 * The page at `/docs`: what the API is, a call that works, and every route, by Swagger UI. The call stands here once: the script
 * that sends it reads its path and its body from the page.
 * @param version of Swagger UI, so that browsers fetch its files again after an update
 */
export function referencePage(version: string): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Postback API</title>
<link rel="icon" type="image/png" href="/docs/favicon-32x32.png">
<link rel="stylesheet" href="/docs/swagger-ui.css?${version}">
<link rel="stylesheet" href="/docs/page.css">
<script src="/docs/theme.js"></script>
</head>
<body>
${navigation('/docs')}
<section class="start" aria-label="Start">
<h1>API reference</h1>
<p>Postback does work that takes time: it indexes content, runs AI jobs and crews of agents, and authenticates payments. A
request is accepted at once. When its work has ended, a signed <a href="/docs/guides/receivers">callback</a> reports the
result.</p>
<h2>A first call</h2>
<p>It starts a job that finds the language of a text. Paste it into a terminal, in the folder of Postback:</p>
<pre tabindex="0">eval "$(./postback env)"   # sets POSTBACK_URL and POSTBACK_KEY
curl $POSTBACK_URL<span id="first-path">/v3/ai/async</span> -H "Authorization: Bearer $POSTBACK_KEY" \\
  -H "Content-Type: application/json" \\
  -d '<span id="first-body">{"model": "text/language_detection/eld", "input": {"text": "Der Leuchtturm blinkt."}}</span>'</pre>
<p class="with-key" hidden><button type="button" id="first-send">Send it from this page</button> with the key of this tab, as all
requests from this page. "Authorize" changes the keys.</p>
<p class="without-key">To send it from this page, <a href="/console">sign in at the console</a> in this tab, or paste a key under
"Authorize" below. Keys stay in the tab.</p>
<pre id="first-response" tabindex="0" aria-live="polite" hidden></pre>
<p>The <a href="/console#/jobs">console</a> shows the job and its result. In another folder, set <code>POSTBACK_URL</code> to
<code class="origin"></code> and <code>POSTBACK_KEY</code> to a key of kind <code>api</code>. The samples below take them from there
too; crews and payments have keys of their own, in <code>POSTBACK_CREW_KEY</code> and <code>POSTBACK_PAYMENT_KEY</code>.</p>
</section>
<div id="docs"></div>
<noscript>This page needs JavaScript to show <a href="/openapi.json">/openapi.json</a>.</noscript>
<script src="/docs/swagger-ui-bundle.js?${version}"></script>
<script src="/docs/page.js" type="module"></script>
<script src="/docs/copy.js" defer></script>
</body>
</html>
`;
}
