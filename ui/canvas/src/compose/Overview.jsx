// The minimap: there as long as a part of the pipeline is out of view, and never over a pipeline that is seen whole.
import { MiniMap, useStore } from '@xyflow/react'
import { HEIGHT, WIDTH } from '../layout.js'

/** @import { DrawnNode, Places } from '../types' */

/** @param {{ places: Places }} props */
export function Overview({ places }) {
  const isWhole = useStore(({ transform: [left, top, zoom], width, height }) =>
    Object.values(places).every(
      ([x, y]) =>
        x * zoom + left >= 0 &&
        y * zoom + top >= 0 &&
        (x + WIDTH) * zoom + left <= width &&
        (y + HEIGHT) * zoom + top <= height,
    ),
  )
  if (isWhole) return null
  return (
    <MiniMap
      pannable
      zoomable
      position="bottom-left"
      nodeClassName={(/** @type {DrawnNode} */ node) =>
        node.id.startsWith('frame:') ? 'frame-in-map' : `role-${node.data.catalog?.role ?? 'operator'}`
      }
      ariaLabel="Pipeline minimap"
    />
  )
}
