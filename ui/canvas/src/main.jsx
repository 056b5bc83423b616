// The component's entry. Streamlit calls it at mount and whenever data or theme changed; the function that it
// returns runs at unmount only. So the React root is kept per element, and no listener is added per call.
import { createRoot } from 'react-dom/client'
import { ReactFlowProvider } from '@xyflow/react'
import flowStyle from '@xyflow/react/dist/style.css?inline'
import ownStyle from './canvas.css?inline'
import { Canvas } from './compose/Canvas.jsx'
import { TimeCanvas } from './time_travel/TimeCanvas.jsx'

export const SOURCES = __SOURCES__

const mounted = new WeakMap()

// The theme that Streamlit reports can differ from the page's, so look at the page's own colour.
function isDark(element) {
  const pen = document.createElement('canvas').getContext('2d')
  pen.fillStyle = getComputedStyle(element).getPropertyValue('--st-background-color').trim()
  const [red, green, blue] = [1, 3, 5].map((at) => parseInt(pen.fillStyle.slice(at, at + 2), 16))
  return red * 0.3 + green * 0.6 + blue * 0.1 < 128
}

export default function (args) {
  const parent = args.parentElement
  let found = mounted.get(parent)
  if (!found) {
    const style = document.createElement('style')
    style.textContent = flowStyle + ownStyle
    const host = document.createElement('div')
    host.className = 'host'
    host.dataset.sources = SOURCES
    parent.append(style, host)
    found = { root: createRoot(host), style, host }
    mounted.set(parent, found)
  }
  found.root.render(
    <ReactFlowProvider>
      {args.data.event !== undefined ? (
        <TimeCanvas key={args.data.run} data={args.data} dark={isDark(found.host)} pick={(what) => args.setTriggerValue('picked', what)} />
      ) : (
        <Canvas
          key={args.data.draft}
          data={args.data}
          dark={isDark(found.host)}
          shadow={found.host.getRootNode()}
          send={(messages) => args.setStateValue('sent', messages)}
        />
      )}
    </ReactFlowProvider>,
  )
  return () => {
    found.root.unmount()
    found.style.remove()
    found.host.remove()
    mounted.delete(parent)
  }
}
