// React Flow with the settings of both canvases. Its own delete keys are off: the document decides what is deleted.
//
// What is drawn depends on the zoom: near, all of a node and an edge; from the middle, names, operators and kinds; from
// far, names and states. Texts keep a readable size at each of them.
import { Background, ReactFlow, useStore } from '@xyflow/react'
import { Frame } from './Frame.jsx'
import { GroupNode } from './GroupNode.jsx'
import { OpNode } from './OpNode.jsx'

/** @import { Edge, ReactFlowProps } from '@xyflow/react' */
/** @import { DrawnNode, FrameNode } from '../types' */

const NODES = { op: OpNode, folded: GroupNode, frame: Frame }
const NEAR = 0.85
const FAR = 0.45

/** @param {number} zoom */
const distance = (zoom) => (zoom >= NEAR ? 'near' : zoom >= FAR ? 'middling' : 'far')

/**
 * @template {Edge} E
 * @param {{ dark: boolean, framed: FrameNode[], nodes: DrawnNode[] } & ReactFlowProps<DrawnNode, E>} props
 * framed: of the open groups, below the nodes; nothing happens to them
 */
export function Graph({ dark, framed, nodes, children, ...props }) {
  // In steps: the graph is not rendered with every frame.
  const zoom = useStore((state) => Math.ceil(state.transform[2] * 20) / 20)
  return (
    <ReactFlow
      className={distance(zoom)}
      style={/** @type {import('react').CSSProperties} */ ({ '--zoom': zoom })}
      nodes={/** @type {DrawnNode[]} */ (/** @type {unknown[]} */ ([...framed, ...nodes]))}
      nodeTypes={NODES}
      colorMode={dark ? 'dark' : 'light'}
      minZoom={0.1}
      maxZoom={2}
      deleteKeyCode={null}
      {...props}
    >
      <Background gap={22} size={1.2} />
      {children}
    </ReactFlow>
  )
}
