// Requests a redraw of the enclosing fragment again and again, until the fragment is drawn without this component.
const timers = new WeakMap();

export default ({ data, parentElement, setTriggerValue }) => {
  clearInterval(timers.get(parentElement));
  const timer = setInterval(() => setTriggerValue("due", true), data.every_ms);
  timers.set(parentElement, timer);
  return () => clearInterval(timers.get(parentElement));
};
