// Draws line numbers behind the text of one of Streamlit's text areas, as a picture that scrolls with the text.
const known = new WeakMap();

export default ({ data, parentElement }) => {
  const host = parentElement.querySelector(".code-numbers");
  if (!host) return;
  let state = known.get(host);
  if (!state) {
    state = listen(host);
    known.set(host, state);
  }
  state.data = data;
  state.draw();
  return () => {
    state.stop();
    known.delete(host);
  };
};

const found = (key, tag) => document.querySelector(`.${CSS.escape(`st-key-${key.trim().replace(/[^a-zA-Z0-9_-]/g, "-")}`)} ${tag}`);
const asImage = (svg) => `url("data:image/svg+xml,${encodeURIComponent(svg)}")`;

function listen(host) {
  const state = { data: null, field: null, drawn: "", marked: 0 };

  state.draw = () => {
    const field = state.data && found(state.data.field, "textarea");
    if (!field) return;
    const lines = field.value.split("\n").length;
    const look = getComputedStyle(field);
    const red = getComputedStyle(host.parentElement).getPropertyValue("--st-red-text-color").trim() || "red";
    const line = field.value === state.data.wrong ? state.data.line : 0;
    const drawn = [lines, line, look.color, look.fontSize, red].join("|");
    if (field === state.field && drawn === state.drawn) return;
    [state.field, state.drawn] = [field, drawn];
    const size = parseFloat(look.fontSize);
    const height = parseFloat(look.lineHeight) || size * 1.4;
    const width = Math.ceil((String(lines).length + 2) * size * 0.62);
    const top = parseFloat(look.paddingTop);
    const numbers = Array.from({ length: lines }, (_, at) => {
      const mark = at + 1 === line ? ` fill="${red}" font-weight="700" fill-opacity="1"` : "";
      return `<text x="${width - size}" y="${top + (at + 0.5) * height + size * 0.35}"${mark}>${at + 1}</text>`;
    });
    const svg = `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${top + lines * height}" font-family="monospace" font-size="${size * 0.92}" text-anchor="end" fill="${look.color}" fill-opacity="0.62">${numbers.join("")}</svg>`;
    const images = [asImage(svg)];
    const places = ["0 0"];
    const sizes = ["auto"];
    if (line) {
      const band = `color-mix(in srgb, ${red} 16%, transparent)`;
      images.push(`linear-gradient(${band}, ${band})`);
      places.push(`0 ${top + (line - 1) * height}px`);
      sizes.push(`100% ${height}px`);
    }
    Object.assign(field.style, {
      paddingLeft: `${width}px`,
      backgroundImage: images.join(", "),
      backgroundPosition: places.join(", "),
      backgroundSize: sizes.join(", "),
      backgroundRepeat: "no-repeat",
      backgroundAttachment: "local",
    });
    field.dataset.lines = lines;
    field.dataset.wrongLine = line || "";
    if (line && line !== state.marked) field.scrollTop = Math.max(0, (line - 3) * height);
    state.marked = line;
  };

  const onKey = (event) => {
    if (!state.data.runs || event.target !== state.field || event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
    // The field submits its text first; then the button is pressed.
    setTimeout(() => found(state.data.runs, "button")?.click());
  };
  // A text set by Python and a redrawn field raise no other event.
  const watching = new MutationObserver(() => state.draw());
  watching.observe(document.body, { childList: true, characterData: true, subtree: true });
  const heard = { input: state.draw, keydown: onKey };
  for (const [name, handler] of Object.entries(heard)) document.addEventListener(name, handler, true);
  state.stop = () => {
    watching.disconnect();
    for (const [name, handler] of Object.entries(heard)) document.removeEventListener(name, handler, true);
  };
  return state;
}
