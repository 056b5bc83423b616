// React Flow with the settings of both canvases. Its own delete keys are off: the document decides what is deleted.
import { Background, ReactFlow } from '@xyflow/react'
import { OpNode } from './OpNode.jsx'

/** @import { Edge, ReactFlowProps } from '@xyflow/react' */
/** @import { DrawnNode } from '../types' */

const NODES = { op: OpNode }

/**
 * @template {Edge} E
 * @param {{ dark: boolean } & ReactFlowProps<DrawnNode, E>} props
 */
export function Graph({ dark, children, ...props }) {
  return (
    <ReactFlow
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
