// The document as React Flow draws it, for both the editing and the time travel canvas.
import { useEffect, useMemo, useState } from 'react'
import { edgeKey } from '../document.js'
import { WIDTH, layout } from '../layout.js'

/** @import { Catalog, DrawnNode, DrawnPipeline, DrawnPipelineEdge, NodeData, PipelineNode, Places } from '../types' */

/**
 * The places of the nodes, which are computed again only if something changes on which they depend: not while somebody
 * fills in a form.
 *
 * @param {DrawnPipeline} document
 * @param {Catalog} catalog
 * @param {number} [gap]
 */
export function useLayout(document, catalog, gap) {
  const nodes = document.nodes.map((node) => ({ ...node, parameters: {} }))
  const shape = JSON.stringify({ ...document, nodes })
  return useMemo(() => layout(JSON.parse(shape), catalog, gap), [shape, catalog, gap])
}

/**
 * What a canvas adds to a node: its data, and how it differs from a plain node.
 *
 * @callback Describe
 * @param {PipelineNode} node
 * @param {NodeData['isTaken']} isTaken
 * @returns {Partial<DrawnNode> & { data: NodeData }}
 */

/**
 * The drawn nodes, which follow the document. The sizes that React Flow measured are kept, and so is the data of a node
 * that did not change, so that its component is not rendered again.
 *
 * @param {DrawnPipeline} document
 * @param {Places} positions
 * @param {Describe} describe a stable callback: a new one draws all nodes anew
 * @returns {[DrawnNode[], import('react').Dispatch<import('react').SetStateAction<DrawnNode[]>>]}
 */
export function useDrawnNodes(document, positions, describe) {
  const [nodes, setNodes] = useState(/** @type {DrawnNode[]} */ ([]))
  useEffect(() => {
    const taken = takenPorts(document)
    setNodes((before) => {
      const known = new Map(before.map((node) => [node.id, node]))
      return document.nodes.map((node) => {
        const old = known.get(node.id)
        const { data, ...rest } = describe(node, taken.get(node.id) ?? {})
        const [x, y] = positions[node.id]
        return {
          ...(old ?? {}),
          id: node.id,
          type: data.group ? 'folded' : 'op',
          data: old && JSON.stringify(old.data) === JSON.stringify(data) ? old.data : data,
          width: WIDTH,
          position: old?.dragging ? old.position : { x, y },
          domAttributes: /** @type {DrawnNode['domAttributes']} */ ({ 'data-pick': node.id }),
          ...rest,
        }
      })
    })
  }, [document, positions, describe])
  return [nodes, setNodes]
}

/**
 * The properties that every drawn edge has.
 *
 * @param {DrawnPipelineEdge} edge
 */
export function drawnEdge(edge) {
  const id = edgeKey(edge.of)
  return {
    id,
    source: edge.source,
    sourceHandle: edge.out,
    target: edge.target,
    targetHandle: edge.port,
    domAttributes: /** @type {import('@xyflow/react').Edge['domAttributes']} */ ({ 'data-pick': id }),
  }
}

/**
 * By node, the input ports at which an edge ends.
 *
 * @param {DrawnPipeline} document
 */
function takenPorts(document) {
  /** @type {Map<string, NodeData['isTaken']>} */
  const taken = new Map()
  for (const edge of document.edges) taken.set(edge.target, { ...taken.get(edge.target), [edge.port]: true })
  return taken
}

/**
 * The node or edge that Enter or Space chooses: the one with the focus.
 *
 * @param {import('react').KeyboardEvent} event
 */
export function pickedBy(event) {
  if ((event.key !== 'Enter' && event.key !== ' ') || event.altKey) return undefined
  const element = /** @type {HTMLElement | SVGElement | null} */ (
    event.target instanceof Element ? event.target.closest('[data-pick]') : null
  )
  return element?.dataset.pick
}
