// Completion in Streamlit's own text fields. A chosen entry is inserted as if typed.
const known = new WeakMap();
let lists = 0;

export default ({ data, parentElement }) => {
  const list = parentElement.querySelector(".completion");
  if (!list) return;
  let state = known.get(list);
  if (!state) {
    list.id = `completion-${++lists}`;
    state = listen(list);
    known.set(list, state);
  }
  state.data = data;
  return () => {
    // Streamlit also calls this while the list stays, if newer data arrived before this call had ended.
    if (list.isConnected) return;
    state.stop();
    known.delete(list);
  };
};

const classOf = (key) => `st-key-${key.trim().replace(/[^a-zA-Z0-9_-]/g, "-")}`;

function listen(list) {
  const state = { data: null, field: null, shown: [], at: 0, from: 0, to: 0 };

  const columnsOf = (target) => {
    if (!target?.matches?.("input, textarea")) return null;
    const key = Object.keys(state.data.columns).find((each) => target.closest(`.${CSS.escape(classOf(each))}`));
    return key === undefined ? null : state.data.columns[key];
  };

  const close = () => {
    if (!state.field) return;
    state.field.removeAttribute("aria-activedescendant");
    state.field.removeAttribute("aria-controls");
    state.field = null;
    if (list.matches(":popover-open")) list.hidePopover();
  };

  const mark = (at) => {
    state.at = (at + state.shown.length) % state.shown.length;
    [...list.children].forEach((each, n) => each.setAttribute("aria-selected", String(n === state.at)));
    const current = list.children[state.at];
    state.field.setAttribute("aria-activedescendant", current.id);
    // Only the list scrolls: scrollIntoView could move the page under the reader.
    list.scrollTop = Math.min(current.offsetTop - 4, Math.max(list.scrollTop, current.offsetTop + current.offsetHeight - list.clientHeight + 4));
  };

  const draw = (field) => {
    list.replaceChildren(...state.shown.map((each, n) => {
      const option = document.createElement("div");
      option.id = `${list.id}-${n}`;
      option.setAttribute("role", "option");
      option.className = each.kind + (n && each.kind !== state.shown[n - 1].kind ? " first" : "");
      for (const part of ["name", "note"]) {
        const text = document.createElement("span");
        text.className = part;
        text.textContent = each[part];
        option.append(text);
      }
      return option;
    }));
    state.field = field;
    field.setAttribute("aria-autocomplete", "list");
    field.setAttribute("aria-controls", list.id);
    if (!list.matches(":popover-open")) {
      list.showPopover();
      follow();
    }
    mark(0);
  };

  // The page may move under the list: messages about an expression appear and disappear below its field.
  const follow = () => {
    if (!state.field) return;
    place(state.field);
    requestAnimationFrame(follow);
  };

  const place = (field) => {
    const box = field.getBoundingClientRect();
    const below = innerHeight - box.bottom;
    list.style.left = `${Math.max(4, Math.min(box.left, innerWidth - list.offsetWidth - 8))}px`;
    list.style.top = `${below > list.offsetHeight + 8 ? box.bottom + 4 : Math.max(4, box.top - list.offsetHeight - 4)}px`;
  };

  // Columns that contain the word, then functions that begin with it. Without a word: all of them, only on request.
  const offer = (field, isAsked) => {
    const columns = columnsOf(field);
    if (!columns) return close();
    const before = field.value.slice(0, field.selectionStart);
    const isText = (before.match(/'/g) ?? []).length % 2 === 1;
    const word = before.match(/`[^`]*$|[\p{L}_][\p{L}\p{N}_]*$/u)?.[0] ?? "";
    const wanted = word.replace("`", "").toLowerCase();
    if (isText || (!isAsked && (!wanted || state.data.keywords.includes(word.toUpperCase())))) return close();
    const rank = ({ name }) => {
      const at = name.toLowerCase().indexOf(wanted);
      return name.toLowerCase() === wanted ? 0 : at === 0 ? 1 : at > 0 ? 2 : 3;
    };
    const ranked = (all, kind, worst) => all
      .map((each) => ({ ...each, kind, rank: rank(each) }))
      .filter((each) => each.rank <= worst)
      .sort((one, other) => one.rank - other.rank);
    const functions = word.startsWith("`") ? [] : ranked(state.data.functions, "function", 1);
    state.shown = [...ranked(columns, "column", 2), ...functions];
    if (!state.shown.length || (!isAsked && state.shown.length === 1 && state.shown[0].insert === word)) return close();
    state.from = field.selectionStart - word.length;
    state.to = field.selectionStart;
    draw(field);
  };

  const take = () => {
    const { field, from, to } = state;
    const chosen = state.shown[state.at];
    close();
    if (field.value.slice(from, to) === chosen.insert) return;
    field.focus();
    const isCalled = chosen.kind === "function" && field.value[to] === "(";
    field.setSelectionRange(from, isCalled ? to + 1 : to);
    state.isTaking = true;
    // The only way to change a field that the browser's undo supports and that notifies the owner of the field.
    document.execCommand("insertText", false, chosen.insert);
    state.isTaking = false;
  };

  const onInput = (event) => {
    if (!state.isTaking && columnsOf(event.target)) offer(event.target, false);
  };
  const onKey = (event) => {
    if (event.ctrlKey && event.code === "Space" && columnsOf(event.target)) {
      event.preventDefault();
      event.stopPropagation();
      return offer(event.target, true);
    }
    if (!state.field || event.target !== state.field || event.isComposing) return;
    const plain = !event.ctrlKey && !event.metaKey && !event.altKey && !event.shiftKey;
    const doing = plain && {
      ArrowDown: () => mark(state.at + 1),
      ArrowUp: () => mark(state.at - 1),
      Enter: take,
      Tab: take,
      Escape: close,
    }[event.key];
    if (doing) {
      event.preventDefault();
      event.stopImmediatePropagation();
      doing();
    } else if (["ArrowLeft", "ArrowRight", "Home", "End"].includes(event.key) || event.ctrlKey || event.metaKey) {
      close();
    }
  };
  const onLeave = (event) => {
    if (event.target === state.field) close();
  };
  const onScroll = (event) => {
    if (event.target !== list && event.target !== state.field) close();
  };
  // The field keeps the focus while the mouse chooses.
  list.onpointerdown = list.onmousedown = (event) => {
    event.preventDefault();
    event.stopPropagation();
  };
  list.onclick = (event) => {
    const option = event.target.closest('[role="option"]');
    if (!option || !state.field) return;
    event.stopPropagation();
    state.at = [...list.children].indexOf(option);
    take();
  };
  const heard = { input: onInput, keydown: onKey, focusout: onLeave, scroll: onScroll };
  for (const [name, handler] of Object.entries(heard)) document.addEventListener(name, handler, true);
  state.stop = () => {
    close();
    for (const [name, handler] of Object.entries(heard)) document.removeEventListener(name, handler, true);
  };
  return state;
}
