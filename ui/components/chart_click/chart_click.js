// Listens to the chart, which may be drawn after this component, and anew. What a click opens may be below the window: it is
// scrolled into view.
const LOOK_MS = 300;
const OPENS_MS = 10_000;

function reveal(opened, until = performance.now() + OPENS_MS) {
  setTimeout(() => {
    const isRunning = document.querySelector('[data-testid="stApp"]')?.dataset.testScriptState !== "notRunning";
    const shown = document.querySelector(`.st-key-${CSS.escape(opened)}`);
    if (shown && !isRunning) shown.scrollIntoView({ block: "nearest" });
    else if (performance.now() < until) reveal(opened, until);
  }, LOOK_MS);
}

export default ({ data, setTriggerValue }) => {
  let chart = null;
  const heard = ({ points }) => {
    const customdata = points.find((point) => point.customdata !== undefined)?.customdata;
    if (customdata === undefined) return;
    setTriggerValue("point", { customdata });
    reveal(data.opens);
  };
  const look = () => {
    const place = `.st-key-${CSS.escape(data.chart)} .js-plotly-plot`;
    const found = document.querySelector(place);
    if (found === chart || !found?.on) return;
    chart?.removeListener?.("plotly_click", heard);
    chart = found;
    chart.on("plotly_click", heard);
  };
  look();
  const timer = setInterval(look, LOOK_MS);
  return () => {
    clearInterval(timer);
    chart?.removeListener?.("plotly_click", heard);
  };
};
