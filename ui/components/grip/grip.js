// Only the browser knows the size: it is a custom property of the page, saved in the local storage.
const page = document.documentElement;

const kept = (name) => {
  try {
    return Number(localStorage.getItem(`changelog-studio-${name}`));
  } catch {
    return 0;
  }
};
const resize = (name, size) => {
  page.style.setProperty(`--${name}`, `${Math.round(size)}px`);
  try {
    localStorage.setItem(`changelog-studio-${name}`, String(Math.round(size)));
  } catch {
    // Without storage the size lasts as long as the page.
  }
};

export default ({ data, parentElement, setTriggerValue }) => {
  const grip = parentElement.querySelector(".grip");
  const part = document.querySelector(data.part);
  if (!grip) return;
  const name = data.sizes;
  const isWide = name.endsWith("width");
  grip.setAttribute("role", "separator");
  grip.tabIndex = 0;
  grip.setAttribute("aria-label", data.label);
  grip.setAttribute("aria-orientation", isWide ? "vertical" : "horizontal");
  grip.classList.toggle("flat", !isWide);
  if (kept(name)) resize(name, kept(name));
  const size = () => {
    const box = document.querySelector(data.part)?.getBoundingClientRect();
    return box ? (isWide ? box.width : box.height) : 0;
  };
  grip.setAttribute("aria-valuenow", String(Math.round(size())));
  const place = (event) => (isWide ? event.clientX : event.clientY);
  let from = null;
  grip.onpointerdown = (event) => {
    from = { at: place(event), size: size() };
    grip.setPointerCapture(event.pointerId);
    grip.classList.add("held");
  };
  // Both parts grow towards the start of the page.
  grip.onpointermove = (event) => from && resize(name, from.size + from.at - place(event));
  grip.onpointerup = grip.onpointercancel = () => {
    from = null;
    grip.classList.remove("held");
  };
  grip.onkeydown = (event) => {
    const step = (isWide ? { ArrowLeft: 24, ArrowRight: -24 } : { ArrowUp: 24, ArrowDown: -24 })[event.key];
    if (!step) return;
    event.preventDefault();
    resize(name, size() + step);
  };
  if (!data.closes || !part) return;
  // In a field or at an open list, Escape only leaves the field. A popup that handles the key prevents the default.
  part.onkeydown = (event) => {
    if (event.key !== "Escape" || event.defaultPrevented) return;
    if (event.target.matches?.("input, textarea") || event.target.getAttribute?.("aria-expanded") === "true") {
      event.target.blur();
    } else {
      setTriggerValue("closed", true);
    }
  };
};
