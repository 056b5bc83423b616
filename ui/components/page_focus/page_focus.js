// Notes whether the last focus came by Tab, gives back the focus that a click leaves on a switch, and gives the page its key
// Alt+Enter from a button that has the focus.
const CHOICES = 'input:is([type="checkbox"], [type="radio"])';
const PRESSED = "button, a, summary";

export default () => {
  const stops = new AbortController();
  const page = document.documentElement;
  const note = (isTabbing) => page.toggleAttribute("data-tabbing", isTabbing);
  const listen = (type, heard) => document.addEventListener(type, heard, { capture: true, signal: stops.signal });
  listen("keydown", ({ key }) => key === "Tab" && note(true));
  listen("keydown", (event) => {
    if (event.key !== "Enter" || !event.altKey || !event.target.matches(PRESSED)) return;
    event.preventDefault();
    event.stopPropagation();
    const { key, code, altKey } = event;
    document.body.dispatchEvent(new KeyboardEvent("keydown", { key, code, altKey, bubbles: true, cancelable: true }));
  });
  listen("pointerdown", () => note(false));
  listen("focusin", ({ target }) => {
    // By the next turn its press has ended, which focuses it once more.
    if (target.matches(CHOICES) && !page.hasAttribute("data-tabbing")) setTimeout(() => target.blur());
  });
  return () => stops.abort();
};
