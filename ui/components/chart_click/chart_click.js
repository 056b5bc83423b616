// Listens to the chart, which may be drawn after this component, and anew.
const LOOK_MS = 300;

export default ({ data, setTriggerValue }) => {
  let chart = null;
  const heard = ({ points }) => {
    const customdata = points.find((point) => point.customdata !== undefined)?.customdata;
    if (customdata !== undefined) setTriggerValue("point", { customdata });
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
