// Shows the HTML that Python made, keeps its scroll position, and reports what the user picks.
export default ({ data, parentElement, setTriggerValue }) => {
  const root = parentElement.querySelector(".root");
  if (!root) return;
  const isGrid = data.shape === "grid";
  root.className = `root ${data.shape}${data.pickable ? " pickable" : ""}`;
  root.style.maxHeight = data.height ? `${data.height}px` : "none";
  root.setAttribute("role", isGrid ? "region" : "group");
  root.setAttribute("aria-label", data.label);
  if (isGrid) root.tabIndex = 0;
  if (root.shown !== data.html) {
    const pressed = parentElement.activeElement?.dataset?.pick;
    const sorting = parentElement.activeElement?.dataset?.sort;
    root.shown = data.html;
    root.innerHTML = data.html;
    if (sorting) root.querySelector(`[data-sort="${sorting}"]`)?.focus();
    if (pressed && !isGrid) root.querySelector(`[data-pick="${pressed}"]`)?.focus();
    const current = root.querySelector("tr.current");
    if (isGrid && !data.follows) root.scrollTop = 0;
    else if (current) {
      // Only the table scrolls: scrollIntoView would move the page under the reader.
      const head = root.querySelector("thead").offsetHeight;
      const top = current.offsetTop - head;
      const bottom = current.offsetTop + current.offsetHeight - root.clientHeight;
      if (root.scrollTop > top || root.scrollTop < bottom) root.scrollTop = (top + bottom) / 2;
    }
  }
  const pick = (element) => element && setTriggerValue("picked", element.dataset.pick);
  root.onclick = (event) => {
    const head = event.target.closest("[data-sort]");
    if (head) return setTriggerValue("sorted", head.dataset.sort);
    // Selecting text in order to copy it is not a pick.
    if (data.pickable && !String(getSelection())) pick(event.target.closest("[data-pick]"));
  };
  root.onkeydown = (event) => {
    if (!isGrid || !data.pickable || event.ctrlKey || event.metaKey || event.altKey) return;
    const rows = [...root.querySelectorAll("tr[data-pick]")];
    const marked = rows.filter((row) => row.classList.contains("current"));
    const next = {
      ArrowDown: () => (marked.length ? rows[rows.indexOf(marked.at(-1)) + 1] : rows[0]),
      ArrowUp: () => (marked.length ? rows[rows.indexOf(marked[0]) - 1] : rows.at(-1)),
      Home: () => rows[0],
      End: () => rows.at(-1),
    }[event.key];
    if (!next) return;
    event.preventDefault();
    event.stopPropagation();
    pick(next());
  };
};
