// Tells the terms of the glossary where they stand as labels on the page, and lists all of them in a dialog.
const EVENT = ".run-edge-event";
const LABELS = [
  ...["h1", "h2", "h3", "h4"].map((each) => `[data-testid="stHeading"] ${each}`),
  ...["stMetricLabel", "stWidgetLabel", "stButtonGroup"].map((each) => `[data-testid="${each}"] p`),
  '[data-testid="stTab"] p',
  '[data-testid="stExpander"] summary p',
  '[data-testid="stMarkdownContainer"] strong',
  "th",
  ".kind",
  EVENT,
  // On the canvas: what a node did not take, or took late, and that it keeps state.
  ":is(button, span):is(.dropped, .late-but-used, .rejected, .watermark, .keeps)",
].join(", ");
const HOSTS = '[data-testid^="stBidiComponent"]';
const BARS = ".st-key-top-bar, .st-key-inspect-pages";
const PRESSABLE = 'a, button, summary, [role="tab"], [role="radio"]';
const HOVER_MS = 350;
const LEAVE_MS = 200;
const SCAN_MS = 250;
const OPEN = "changelog-studio-glossary";

const marks = new CSSStyleSheet();
marks.replaceSync(`
[data-term="first"] {
  text-decoration: underline dotted color-mix(in srgb, currentColor 55%, transparent); text-underline-offset: .25em;
  cursor: help;
}
[data-term="first"]:focus-visible { outline: 2px solid var(--st-primary-color, currentColor); outline-offset: 2px; border-radius: .15rem; }
`);

/** The words of the terms, longest first, so that "late but used" is not told as "late". */
function lexicon(articles) {
  const terms = new Map();
  for (const article of articles) {
    for (const word of article.dataset.words.split("|")) terms.set(word.toLowerCase(), article);
  }
  const signs = /[+\-.*?^$()[\]{}|\\]/g;
  const words = [...terms.keys()].sort((one, other) => other.length - one.length);
  const pattern = words.map((word) => word.replace(signs, "\\$&")).join("|");
  const any = new RegExp(`(?<![\\w+-])(?:${pattern})(?!\\w)`, "gi");
  return (text) => [...new Set([...text.matchAll(any)].map((found) => terms.get(found[0].toLowerCase())))];
}

const instances = new WeakMap();

export default ({ parentElement }) => {
  // Streamlit's popovers and dialogs are outside of the element that has the theme's scheme, which light-dark() follows.
  const app = document.querySelector('[data-testid="stApp"]');
  if (app) document.documentElement.style.colorScheme = getComputedStyle(app).colorScheme;
  const running = instances.get(parentElement) ?? start(parentElement);
  instances.set(parentElement, running);
  return () => {
    running();
    instances.delete(parentElement);
  };
};

function start(root) {
  const part = (selector) => root.querySelector(selector);
  const [dialog, told, search] = [part("dialog"), part(".told"), part("input")];
  const list = document.createElement("div");
  list.append(part("template").content.cloneNode(true));
  const articles = [...list.querySelectorAll("article")];
  const termsIn = lexicon(articles);
  const tellers = new WeakMap();
  const marked = new Set();
  const watched = new Set();
  const stops = new AbortController();
  const { signal } = stops;
  let timer = 0;
  let shownAt = null;
  let scan = 0;

  const observer = new MutationObserver(() => {
    scan ||= setTimeout(mark, SCAN_MS);
  });
  function watch(node) {
    if (watched.has(node)) return;
    watched.add(node);
    observer.observe(node, { childList: true, subtree: true, characterData: true });
    const sheets = (node.shadowRoot ?? node).adoptedStyleSheets ?? document.adoptedStyleSheets;
    if (!sheets.includes(marks)) sheets.push(marks);
  }

  /** All labels of the page in their order, those of our own components where these stand. */
  function labels() {
    return [...document.querySelectorAll(`${LABELS}, ${HOSTS}`)].flatMap((each) => {
      if (each.closest(BARS) && !each.matches(EVENT)) return [];
      if (!each.matches(HOSTS)) return [each];
      if (!each.shadowRoot || each.shadowRoot === root.getRootNode()) return [];
      watch(each.shadowRoot);
      return [...each.shadowRoot.querySelectorAll(LABELS)];
    });
  }

  function mark() {
    scan = 0;
    const seen = new Set();
    const found = new Set();
    for (const label of labels()) {
      if (label.parentElement?.closest("[data-term]")) continue;
      const terms = termsIn(label.textContent);
      if (!terms.length || !label.checkVisibility()) continue;
      const isFirst = terms.some((term) => !seen.has(term));
      for (const term of terms) seen.add(term);
      const taker = label.querySelector("button") ?? label.closest(PRESSABLE) ?? label;
      if (label.matches(".kind")) label.removeAttribute("title");
      label.dataset.term = isFirst ? "first" : "again";
      if (isFirst) {
        if (taker === label) label.tabIndex = 0;
        taker.setAttribute("aria-description", terms.map(meaning).join(" "));
      }
      for (const each of [label, ...(isFirst ? [taker] : [])]) {
        tellers.set(each, terms);
        found.add(each);
      }
      if (!isFirst && !label.matches(PRESSABLE)) label.removeAttribute("tabindex");
    }
    for (const each of marked) if (!found.has(each)) unmark(each);
    marked.clear();
    for (const each of found) marked.add(each);
    if (shownAt && !shownAt.isConnected) hide();
  }

  function unmark(each) {
    tellers.delete(each);
    each.removeAttribute("aria-description");
    if (each.dataset.term === undefined) return;
    if (each.dataset.term === "first" && !each.matches("button, a, summary")) each.removeAttribute("tabindex");
    delete each.dataset.term;
  }

  const meaning = (article) => article.querySelector("p").textContent;

  function show(label) {
    clearTimeout(timer);
    const terms = tellers.get(label);
    if (!terms || dialog.open) return;
    told.replaceChildren(...terms.map((term) => term.cloneNode(true)));
    for (const each of told.children) each.hidden = false;
    told.showPopover();
    const [at, own] = [label.getBoundingClientRect(), told.getBoundingClientRect()];
    const isAbove = at.bottom + own.height + 8 > innerHeight && at.top > own.height + 8;
    told.style.left = `${Math.max(8, Math.min(at.left, innerWidth - own.width - 8))}px`;
    told.style.top = `${isAbove ? at.top - own.height - 6 : at.bottom + 6}px`;
    shownAt = label;
  }
  function hide() {
    clearTimeout(timer);
    shownAt = null;
    if (told.matches(":popover-open")) told.hidePopover();
    told.replaceChildren();
  }
  const soon = (act, ms) => {
    clearTimeout(timer);
    timer = setTimeout(act, ms);
  };

  const labelOf = (event) => event.composedPath().find((each) => tellers.has(each));
  const listen = (type, heard, options) => document.addEventListener(type, heard, { signal, ...options });
  listen("pointerover", (event) => {
    const label = labelOf(event);
    if (event.composedPath().includes(told) || (label && label === shownAt)) return clearTimeout(timer);
    if (label) soon(() => show(label), HOVER_MS);
    else if (shownAt && !isFocused(shownAt)) soon(hide, LEAVE_MS);
    else if (!shownAt) clearTimeout(timer);
  });
  listen("pointerdown", (event) => !event.composedPath().includes(told) && hide());
  listen("focusin", (event) => {
    const label = labelOf(event);
    if (label && isFocused(label)) show(label);
    else if (shownAt) hide();
  });
  listen("focusout", () => shownAt && hide());
  listen("scroll", () => shownAt && hide(), { capture: true, passive: true });
  listen("keydown", heard, { capture: true });

  function heard(event) {
    if (event.key === "Escape" && shownAt) {
      event.stopPropagation();
      hide();
    } else if (event.key === "Enter" && shownAt && event.composedPath()[0] === shownAt && shownAt.dataset.term) {
      if (!shownAt.matches("button, a, summary")) open(tellers.get(shownAt)[0]);
    }
  }
  const isFocused = (label) => label.getRootNode().activeElement === label && label.matches(":focus-visible");

  /** Open the list of all terms, at one of them if it is given. */
  function open(article) {
    hide();
    search.value = "";
    find();
    part(".terms").prepend(list);
    dialog.showModal();
    for (const each of articles) each.classList.toggle("sought", each === article);
    if (article) article.scrollIntoView({ block: "center" });
    else search.focus();
  }
  function find() {
    const sought = search.value.trim().toLowerCase();
    for (const each of articles) {
      // From the start of a word: "late" is not in "accumulate".
      const text = ` ${each.dataset.words} ${each.textContent}`.toLowerCase().replaceAll(/[|(]/g, " ");
      each.hidden = !text.includes(` ${sought}`);
    }
    for (const each of list.querySelectorAll("section")) {
      each.hidden = !each.querySelector("article:not([hidden])");
    }
    part(".none").textContent = articles.some((each) => !each.hidden) ? "" : "No term has this word.";
  }
  const on = (element, type, act) => element.addEventListener(type, act, { signal });
  on(part(".open"), "click", () => open());
  on(part(".close"), "click", () => dialog.close());
  on(dialog, "close", () => list.remove());
  on(search, "input", find);
  // Streamlit takes R and C from outside of text fields, and cannot see that this is one.
  on(dialog, "keydown", (event) => event.stopPropagation());
  on(dialog, "click", (event) => event.composedPath()[0] === dialog && dialog.close());
  on(window, OPEN, ({ detail }) => open(articles.find((each) => each.dataset.words.split("|")[0] === detail)));

  watch(document.body);
  mark();
  return () => {
    stops.abort();
    observer.disconnect();
    clearTimeout(scan);
    hide();
    for (const each of marked) unmark(each);
  };
}
