// React Flow with the settings of both canvases. Its own delete keys are off: the document decides what is deleted.
//
// What is drawn depends on the zoom. Texts keep a readable size at each of them; where a node is lower than its name, it
// has none and takes its colour.
import { useMemo } from 'react'
import { Background, ReactFlow, useStore } from '@xyflow/react'
import { Frame } from './Frame.jsx'
import { GroupNode } from './GroupNode.jsx'
import { OpNode } from './OpNode.jsx'
import { distance, nameLines } from './distance.js'
import { useLines } from './lines.js'
import { titled } from './titles.js'

/** @import { Edge, ReactFlowProps } from '@xyflow/react' */
/** @import { DrawnNode, Form, FrameNode } from '../types' */

const NODES = { op: OpNode, folded: GroupNode, frame: Frame }
const STEPS = 4 // from a zoom to its double
const STEP = 16
// The least size of a text on the screen, in px: of one person's, and of one in front of a room.
const LEAST = 11
const LEAST_PRESENTED = 16

/**
 * @template {Edge} E
 * @param {{ dark: boolean, isPresented?: boolean, isFollowed?: boolean, framed: FrameNode[], nodes: DrawnNode[], edges: E[],
 *   forms: (edge: E, zoom: number, least: number) => Form[] } & ReactFlowProps<DrawnNode, E>} props
 * isFollowed: whether the view shows the middle of the graph, or follows its records. framed: of the open groups, below the nodes; nothing happens to them. forms: that the label of an edge can have, from
 * the best; a stable callback
 */
export function Graph({
  dark,
  isPresented = false,
  isFollowed = false,
  framed,
  nodes,
  edges,
  forms,
  children,
  ...props
}) {
  // In steps, and never above the real one: the graph is not rendered with every frame, and no text is too small.
  const zoom = useStore((state) => 2 ** (Math.floor(Math.log2(state.transform[2]) * STEPS) / STEPS))
  const least = isPresented ? LEAST_PRESENTED : LEAST
  const formsHere = useMemo(
    () => (/** @type {E} */ edge, /** @type {number} */ at) => forms(edge, at, least),
    [forms, least],
  )
  const frames = useMemo(() => titled(framed, nodes, zoom), [framed, nodes, zoom])
  // In steps, too; less 40 px, of what stands at the lower edge of the canvas and as much at the upper one.
  const view = useStore(({ height, transform }) =>
    isFollowed ? Math.floor((height - 40) / transform[2] / STEP) * STEP : undefined,
  )
  const drawn = useLines(nodes, edges, frames, formsHere, zoom, view)
  const { lines, few, leading } = nameLines(zoom, least)
  const look = { '--zoom': zoom, '--least': `${least}px`, '--lines': lines, '--few-lines': few, '--leading': leading }
  return (
    <ReactFlow
      className={`${distance(zoom)} ${lines ? '' : 'nameless'}`}
      style={/** @type {import('react').CSSProperties} */ (look)}
      nodes={/** @type {DrawnNode[]} */ (/** @type {unknown[]} */ ([...frames, ...nodes]))}
      edges={drawn}
      nodeTypes={NODES}
      colorMode={dark ? 'dark' : 'light'}
      minZoom={0.04}
      maxZoom={2}
      deleteKeyCode={null}
      {...props}
    >
      <Background gap={22} size={1.2} />
      {children}
    </ReactFlow>
  )
}
