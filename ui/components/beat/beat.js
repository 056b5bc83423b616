// Asks for the fragment that it is in again and again, until that is drawn without it.
const timers = new WeakMap();

export default ({ data, parentElement, setTriggerValue }) => {
  clearInterval(timers.get(parentElement));
  const timer = setInterval(() => setTriggerValue("due", true), data.every_ms);
  timers.set(parentElement, timer);
  return () => clearInterval(timers.get(parentElement));
};
