// To change the canvas: run `npm ci`, edit `src`, then run `npm run check` (types, lint, format, tests) and
// `npm run build`. Commit the bundle too, so that nobody needs npm to use the studio.
//
// src/document.js, grouping.js, layout.js   the document as a value, its groups, the places of its nodes; no React
// src/types.d.ts               what Python sends, and the gestures that it receives
// src/compose/                 the editing canvas; src/time_travel/ the canvas of one event; src/graph/ used by both
// src/picture/                 the document as an SVG text: for cards, exported pages, replays; a script of its own
// src/commands/                the list that Ctrl+K opens on the other pages
//
// This is the component's entry. Streamlit calls it at mount and whenever data or theme change, so there is one React
// root per element, and a call adds no listener. The function that a call returns runs at unmount, but also while the
// element stays, if newer data arrived before the call had ended.
import { createRoot } from 'react-dom/client'
import { ReactFlowProvider } from '@xyflow/react'
import flowStyle from '@xyflow/react/dist/style.css?inline'
import { Canvas } from './compose/Canvas.jsx'
import composeStyle from './compose/compose.css?inline'
import graphStyle from './graph/graph.css?inline'
import { TimeCanvas } from './time_travel/TimeCanvas.jsx'
import timeTravelStyle from './time_travel/time_travel.css?inline'

export const SOURCES = __SOURCES__

/** @import { CanvasData, Sent, TimeData } from './types' */

/**
 * @typedef {object} Arguments what Streamlit calls the component with
 * @property {HTMLElement | ShadowRoot} parentElement
 * @property {CanvasData | TimeData} data
 * @property {(name: 'sent', value: Sent) => void} setStateValue
 * @property {(name: 'picked', value: { node?: string, edge?: string, late?: string }) => void} setTriggerValue
 */

/** @typedef {{ root: import('react-dom/client').Root, style: Element, host: HTMLElement }} Mounted */

/** @type {WeakMap<Arguments['parentElement'], Mounted>} */
const mounted = new WeakMap()

// The theme that Streamlit reports can differ from the page's, so read the page's own colour.
/** @param {Element} element */
function isDark(element) {
  const pen = /** @type {CanvasRenderingContext2D} */ (document.createElement('canvas').getContext('2d'))
  pen.fillStyle = getComputedStyle(element).getPropertyValue('--st-background-color').trim()
  const [red, green, blue] = [1, 3, 5].map((at) => parseInt(String(pen.fillStyle).slice(at, at + 2), 16))
  return red * 0.3 + green * 0.6 + blue * 0.1 < 128
}

/** @param {Arguments} args */
export default function mount(args) {
  const parent = args.parentElement
  let found = mounted.get(parent)
  if (!found) {
    const style = document.createElement('style')
    style.textContent = [flowStyle, graphStyle, composeStyle, timeTravelStyle].join('\n')
    const host = document.createElement('div')
    host.className = 'host'
    host.dataset.sources = SOURCES
    parent.append(style, host)
    found = { root: createRoot(host), style, host }
    mounted.set(parent, found)
  }
  const { data } = args
  const dark = isDark(found.host)
  found.root.render(
    <ReactFlowProvider>
      {'event' in data ? (
        <TimeCanvas key={data.run} data={data} dark={dark} pick={(what) => args.setTriggerValue('picked', what)} />
      ) : (
        <Canvas
          key={data.draft}
          data={data}
          dark={dark}
          shadow={/** @type {Document | ShadowRoot} */ (found.host.getRootNode())}
          send={(messages) => args.setStateValue('sent', messages)}
        />
      )}
    </ReactFlowProvider>,
  )
  return () => {
    // A canvas drawn anew would lose the focus, its selection, and all gestures that Python has not acknowledged.
    if (parent.isConnected) return
    found.root.unmount()
    found.style.remove()
    found.host.remove()
    mounted.delete(parent)
  }
}
