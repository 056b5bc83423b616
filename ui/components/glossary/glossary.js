// Tells the terms of the glossary where they stand on the page, and lists all of them in a dialog.
//
// A term is told at its labels; one without a label, at the first text that has it, and else at the first button. The
// bars of the page, data and stories, which have steps of their own, are left out.
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
const TEXTS = [
  ':is([data-testid="stMarkdownContainer"], [data-testid="stCaptionContainer"]) :is(p, li)',
  '[data-testid="stHtml"] :is(p, li, div)',
].join(", ");
const LABEL = ':is([data-term="first"], [data-term="again"])';
const DATA = `code, kbd, pre, td, input, textarea, svg, ${LABEL}, [aria-hidden="true"]`;
const ELSEWHERE = '.st-key-top-bar, .st-key-inspect-pages, [class*="st-key-story"], dialog';
const HOSTS = '[data-testid^="stBidiComponent"]';
const ISOLATED = '[data-testid="stBidiComponentIsolated"]';
const BARS = ".st-key-top-bar, .st-key-inspect-pages";
const PRESSABLE = 'a, button, summary, [role="tab"], [role="radio"]';
// What belongs to them is below them: what a tab opens, a label's field.
const HEADS = '[role="tab"], [role="radio"], [data-testid="stWidgetLabel"], th';
const HOVER_MS = 350;
const LEAVE_MS = 200;
const SCAN_MS = 250;
const LOOK_MS = 600;
const MOST_LOOKS = 5;
const OPEN = "changelog-studio-glossary";
const PRODUCT = "Changelog Studio";

const marks = new CSSStyleSheet();
marks.replaceSync(`
[data-term="first"] {
  text-decoration: underline dotted color-mix(in srgb, currentColor 55%, transparent); text-underline-offset: .25em;
  cursor: help;
}
::highlight(${OPEN}) { text-decoration: underline dotted color-mix(in srgb, currentColor 55%, transparent); text-underline-offset: .25em; }
:is([data-term="first"], [data-term="text"]):focus-visible { outline: 2px solid var(--st-primary-color, currentColor); outline-offset: 2px; border-radius: .15rem; }
`);

/** The words of the terms, longest first: "late but used" is not told as "late", nor the product's name as a changelog. */
function lexicon(articles) {
  const terms = new Map();
  for (const article of articles) {
    for (const word of article.dataset.words.split("|")) terms.set(word.toLowerCase(), article);
  }
  const signs = /[+\-.*?^$()[\]{}|\\]/g;
  const words = [...terms.keys(), PRODUCT].sort((one, other) => other.length - one.length);
  const pattern = words.map((word) => word.replace(signs, "\\$&")).join("|");
  const any = new RegExp(`(?<![\\w+-])(?:${pattern})(?!\\w)`, "gi");
  return (text) =>
    [...text.matchAll(any)]
      .map((found) => [terms.get(found[0].toLowerCase()), found])
      .filter(([term]) => term);
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
  const found = lexicon(articles);
  const termsIn = (text) => [...new Set(found(text).map(([term]) => term))];
  const spoken = globalThis.Highlight ? new Highlight() : new Set();
  CSS.highlights?.set(OPEN, spoken);
  const tellers = new WeakMap();
  const words = new WeakMap();
  const marked = new Set();
  const watched = new Set();
  const stops = new AbortController();
  const { signal } = stops;
  let timer = 0;
  let shownAt = null;
  let pressed = null;
  let scan = 0;

  // What is hidden now, a change of style may show, which nobody tells: it is looked for a few times more.
  let looks = 0;
  const observer = new MutationObserver(() => {
    looks = MOST_LOOKS;
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
      // It is not drawn yet, and nobody tells when it is.
      if (!each.shadowRoot && each.matches(ISOLATED)) scan ||= setTimeout(mark, SCAN_MS);
      if (!each.shadowRoot || each.shadowRoot === root.getRootNode()) return [];
      watch(each.shadowRoot);
      return [...each.shadowRoot.querySelectorAll(LABELS)];
    });
  }

  function mark() {
    scan = 0;
    const seen = new Set();
    const now = new Set();
    let isHidden = false;
    const tell = (element, terms) => {
      tellers.set(element, terms);
      now.add(element);
    };
    for (const label of labels()) {
      if (label.parentElement?.closest(LABEL)) continue;
      const terms = termsIn(label.textContent);
      if (!terms.length) continue;
      if (!label.checkVisibility()) {
        isHidden = true;
        continue;
      }
      const isFirst = terms.some((term) => !seen.has(term));
      for (const term of terms) seen.add(term);
      const taker = label.querySelector("button") ?? label.closest(PRESSABLE) ?? label;
      if (label.matches(".kind")) label.removeAttribute("title");
      label.dataset.term = isFirst ? "first" : "again";
      if (isFirst) {
        if (taker === label) label.tabIndex = 0;
        taker.setAttribute("aria-description", terms.map(meaning).join(" "));
      }
      for (const each of [label, ...(isFirst ? [taker] : [])]) tell(each, terms);
      if (!isFirst && !label.matches(PRESSABLE)) label.removeAttribute("tabindex");
    }
    if (isHidden && looks-- > 0) scan ||= setTimeout(mark, LOOK_MS);
    spoken.clear();
    const texts = [...document.querySelectorAll(TEXTS)].filter((each) => !each.closest(ELSEWHERE));
    for (const isPressed of [false, true]) {
      for (const each of texts) if (isPressed === !!each.closest(PRESSABLE)) markText(each, seen, tell);
    }
    for (const each of marked) if (!now.has(each)) unmark(each);
    marked.clear();
    for (const each of now) marked.add(each);
    if (shownAt && !shownAt.isConnected) hide();
  }

  /** The terms of a text that are told nowhere yet. The text takes the focus, and its words answer the mouse. */
  function markText(text, seen, tell) {
    if (!termsIn(text.textContent).some((term) => !seen.has(term)) || !text.checkVisibility()) return;
    const ranges = new Map();
    const walker = document.createTreeWalker(text, NodeFilter.SHOW_TEXT);
    for (let node = walker.nextNode(); node; node = walker.nextNode()) {
      if (node.parentElement.closest(TEXTS) !== text || node.parentElement.closest(DATA)) continue;
      for (const [term, { index, 0: word }] of found(node.data)) {
        if (seen.has(term)) continue;
        seen.add(term);
        const range = new StaticRange({
          startContainer: node,
          startOffset: index,
          endContainer: node,
          endOffset: index + word.length,
        });
        spoken.add(range);
        ranges.set(term, range);
      }
    }
    if (!ranges.size) return;
    const taker = text.closest(PRESSABLE) ?? text;
    if (taker === text) text.tabIndex = 0;
    text.dataset.term = "text";
    taker.setAttribute("aria-description", [...ranges.keys()].map(meaning).join(" "));
    words.set(text, ranges);
    tell(text, [...ranges.keys()]);
    if (taker !== text) tell(taker, [...ranges.keys()]);
  }

  /** Of a text, what is told at a point: the term of the word there, else nothing. */
  function wordAt(text, { clientX, clientY }) {
    for (const [term, { startContainer, startOffset, endOffset }] of words.get(text) ?? []) {
      const range = new Range();
      if (!startContainer.isConnected || endOffset > startContainer.length) continue;
      range.setStart(startContainer, startOffset);
      range.setEnd(startContainer, endOffset);
      for (const at of range.getClientRects()) {
        if (clientX >= at.left && clientX <= at.right && clientY >= at.top && clientY <= at.bottom) return [term, at];
      }
    }
    return null;
  }

  function unmark(each) {
    tellers.delete(each);
    each.removeAttribute("aria-description");
    if (each.dataset.term === undefined) return;
    words.delete(each);
    if (each.dataset.term !== "again" && !each.matches("button, a, summary")) each.removeAttribute("tabindex");
    delete each.dataset.term;
  }

  const meaning = (article) => article.querySelector("p").textContent;

  function show(label, terms = tellers.get(label), at = label.getBoundingClientRect()) {
    clearTimeout(timer);
    if (!terms || dialog.open) return;
    told.replaceChildren(...terms.map((term) => term.cloneNode(true)));
    for (const each of told.children) each.hidden = false;
    told.showPopover();
    const own = told.getBoundingClientRect();
    const hasRoomBelow = at.bottom + own.height + 8 <= innerHeight && !label.closest(HEADS);
    const isAbove = !hasRoomBelow && at.top > own.height + 8;
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
  /** Only the words of a text answer the mouse; a text that is pressed answers as a whole. */
  const isText = (label) => label?.dataset.term === "text" && !label.closest(PRESSABLE);
  const listen = (type, heard, options) => document.addEventListener(type, heard, { signal, ...options });
  listen("pointerover", (event) => {
    const label = labelOf(event);
    // Who presses a tab wants what it opens, and need not take the mouse away first.
    if (pressed && label === pressed) return;
    pressed = null;
    if (isText(label)) return;
    if (event.composedPath().includes(told) || (label && label === shownAt)) return clearTimeout(timer);
    if (label) soon(() => show(label), HOVER_MS);
    else if (shownAt && !isFocused(shownAt)) soon(hide, LEAVE_MS);
    else if (!shownAt) clearTimeout(timer);
  });
  listen("pointermove", (event) => {
    const text = labelOf(event);
    // It is told where the mouse rests, not where it passes.
    if (text && !isText(text) && !shownAt && text !== pressed) soon(() => show(text), HOVER_MS);
    if (!isText(text)) return;
    const word = wordAt(text, event);
    if (word) soon(() => show(text, [word[0]], word[1]), HOVER_MS);
    else if (shownAt === text && !isFocused(text)) soon(hide, LEAVE_MS);
    else if (!shownAt) clearTimeout(timer);
  });
  listen("pointerdown", (event) => {
    if (event.composedPath().includes(told)) return;
    hide();
    pressed = labelOf(event) ?? null;
  });
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
    CSS.highlights?.delete(OPEN);
    hide();
    for (const each of marked) unmark(each);
  };
}
