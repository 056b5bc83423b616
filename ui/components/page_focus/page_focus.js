// Notes whether the last focus came by Tab, and gives back the focus that a click leaves on a switch.
const CHOICES = 'input:is([type="checkbox"], [type="radio"])';

export default () => {
  const stops = new AbortController();
  const page = document.documentElement;
  const note = (isTabbing) => page.toggleAttribute("data-tabbing", isTabbing);
  const listen = (type, heard) => document.addEventListener(type, heard, { capture: true, signal: stops.signal });
  listen("keydown", ({ key }) => key === "Tab" && note(true));
  listen("pointerdown", () => note(false));
  listen("focusin", ({ target }) => {
    // By the next turn its press has ended, which focuses it once more.
    if (target.matches(CHOICES) && !page.hasAttribute("data-tabbing")) setTimeout(() => target.blur());
  });
  return () => stops.abort();
};
