// The width is the browser's own matter: a custom property of the page, which its storage keeps.
const KEPT = "changelog-studio-panel-width";
const page = document.documentElement;

const kept = () => {
  try {
    return Number(localStorage.getItem(KEPT));
  } catch {
    return 0;
  }
};
const widen = (width) => {
  page.style.setProperty("--panel-width", `${Math.round(width)}px`);
  try {
    localStorage.setItem(KEPT, String(Math.round(width)));
  } catch {
    // Without storage the width lasts as long as the page.
  }
};

export default ({ parentElement, setTriggerValue }) => {
  const grip = parentElement.querySelector(".grip");
  const panel = document.querySelector(".st-key-bench-panel");
  if (!grip || !panel) return;
  if (kept()) widen(kept());
  const width = () => panel.getBoundingClientRect().width;
  let from = null;
  grip.onpointerdown = (event) => {
    from = { x: event.clientX, width: width() };
    grip.setPointerCapture(event.pointerId);
    grip.classList.add("held");
  };
  grip.onpointermove = (event) => from && widen(from.width + from.x - event.clientX);
  grip.onpointerup = grip.onpointercancel = () => {
    from = null;
    grip.classList.remove("held");
  };
  grip.onkeydown = (event) => {
    const step = { ArrowLeft: 24, ArrowRight: -24 }[event.key];
    if (!step) return;
    event.preventDefault();
    widen(width() + step);
  };
  // A field that is being typed in is left first; what is open above the page has the key for itself.
  panel.onkeydown = (event) => {
    if (event.key !== "Escape" || event.defaultPrevented) return;
    if (event.target.matches?.("input, textarea") || event.target.getAttribute?.("aria-expanded") === "true") {
      event.target.blur();
    } else {
      setTriggerValue("closed", true);
    }
  };
};
