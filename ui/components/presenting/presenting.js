// Presses the button that a key stands for, unless a dialog or what has the focus has a use for that key itself.
const FIELDS = 'input, textarea, select, [contenteditable="true"], [role="radio"], [role="slider"], [role="tab"]';
const PRESSED = "button, a, summary";
const OPEN = 'dialog[open], [role="dialog"], [role="listbox"], [role="menu"], :popover-open';

export default ({ data, parentElement }) => {
  const stops = new AbortController();
  const has = (event, selector) => event.composedPath().some((each) => each instanceof Element && each.matches(selector));
  const press = ({ buttons, step }) => {
    const found = buttons.map((key) => document.querySelector(`.st-key-${key} button`)).find(Boolean);
    if (found && !found.disabled) found.click();
    if (!found && step) window.dispatchEvent(new CustomEvent("changelog-studio-step", { detail: step }));
  };
  const list = () => {
    const dialog = parentElement.querySelector("template").content.firstElementChild.cloneNode(true);
    dialog.onclose = () => dialog.remove();
    dialog.onclick = () => dialog.close();
    parentElement.append(dialog);
    dialog.showModal();
  };
  const heard = (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || has(event, `${FIELDS}, ${OPEN}`)) return;
    if (event.key === " " && has(event, PRESSED) && !has(event, ".st-key-story-next")) return;
    if (event.key === "Escape" && document.querySelector(OPEN)) return;
    if (event.key !== "?" && !data[event.key]) return;
    event.preventDefault();
    event.stopPropagation();
    if (event.key === "?") list();
    else press(data[event.key]);
  };
  document.addEventListener("keydown", heard, { signal: stops.signal, capture: true });
  return () => stops.abort();
};
