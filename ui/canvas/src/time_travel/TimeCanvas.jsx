// The pipeline at one event, read-only: edges that carried records for it are lit and show these records.
import { useCallback, useEffect, useMemo, useRef } from 'react'
import { Controls, MarkerType, applyNodeChanges, useReactFlow } from '@xyflow/react'
import { edgeKey } from '../document.js'
import { Graph } from '../graph/Graph.jsx'
import { byOperator, drawnEdge, pickedBy, useDrawnNodes } from '../graph/drawn.js'
import { Picture } from '../graph/picture.js'
import { layout } from '../layout.js'
import { LitEdge } from './LitEdge.jsx'

/** @import { NodeChange } from '@xyflow/react' */
/** @import { DrawnNode, LitFlowEdge, Pipeline, PipelineNode, TimeData } from '../types' */

const EDGES = { lit: LitEdge }
const GAP = 190 // room for records between the nodes
const ARROW = { type: MarkerType.ArrowClosed, width: 20, height: 20, markerUnits: 'userSpaceOnUse' }
const quiet = () => {}

/** @param {{ data: TimeData, dark: boolean, pick: (what: { node?: string, edge?: string }) => void }} props */
export function TimeCanvas({ data, dark, pick }) {
  const flow = useReactFlow()
  const box = useRef(/** @type {HTMLDivElement | null} */ (null))
  const catalog = useMemo(() => byOperator(data.catalog), [data.catalog])
  const text = JSON.stringify(data.document)
  /** @type {Pipeline} */
  const document = useMemo(() => JSON.parse(text), [text])
  const positions = useMemo(() => {
    const unplaced = { ...document, nodes: document.nodes.map((node) => ({ ...node, place: null })) }
    return layout(unplaced, catalog, GAP)
  }, [document, catalog])

  const describe = useCallback(
    (/** @type {PipelineNode} */ node, /** @type {Partial<Record<string, true>>} */ isTaken) => {
      const facts = data.nodes[node.id] ?? {}
      // A run can be older than today's operators.
      const unknown = { title: node.operator, role: /** @type {const} */ ('operator'), ports: Object.keys(isTaken) }
      const entry = catalog[node.operator] ?? unknown
      return {
        data: { operator: node.operator, catalog: entry, facts, isTaken },
        draggable: false,
        connectable: false,
        selected: data.selected === node.id,
        className: facts.isLit ? 'lit' : 'unlit',
        ariaLabel: `${entry.role} ${node.id}${facts.isLit ? ', has records for this event' : ''}`,
      }
    },
    [data.nodes, data.selected, catalog],
  )
  const [nodes, setNodes] = useDrawnNodes(document, positions, describe)

  /** @type {LitFlowEdge[]} */
  const edges = useMemo(
    () =>
      document.edges.map((edge) => {
        const drawn = drawnEdge(edge)
        const facts = data.edges[drawn.id] ?? {}
        const records = facts.records?.map((record) => `${record.kind} ${record.title}`).join('; ')
        return {
          ...drawn,
          type: 'lit',
          data: { facts },
          className: records ? 'lit' : 'unlit',
          selected: data.shown === facts.edge,
          zIndex: records ? 1 : 0,
          markerEnd: ARROW,
          ariaLabel: `from ${edge.source} to ${edge.target}: ${records ?? 'no records'}`,
        }
      }),
    [document.edges, data.edges, data.shown],
  )

  const choose = useCallback(
    (/** @type {string} */ id) => {
      const edge = document.edges.find((each) => edgeKey(each) === id)
      pick(edge ? { edge: data.edges[id]?.edge ?? edge.source } : { node: id })
    },
    [document.edges, data.edges, pick],
  )
  const picture = useMemo(() => ({ tip: quiet, problems: quiet, open: quiet, pick: choose }), [choose])

  // The whole pipeline stays in view, also when the page changes its width.
  const fit = useCallback(
    () => flow.fitView({ padding: { x: '12px', top: '14px', bottom: '30px' }, maxZoom: 1 }),
    [flow],
  )
  useEffect(() => {
    const later = setTimeout(fit, 60)
    const watch = new ResizeObserver(() => fit())
    if (box.current) watch.observe(box.current)
    return () => {
      clearTimeout(later)
      watch.disconnect()
    }
  }, [fit, positions])

  const onKeyDown = (/** @type {import('react').KeyboardEvent} */ event) => {
    const picked = pickedBy(event)
    if (!picked) return
    event.preventDefault()
    event.stopPropagation()
    choose(picked)
  }
  // Apply only sizes that React Flow measured: nothing can be moved or selected here.
  const onNodesChange = (/** @type {NodeChange<DrawnNode>[]} */ changes) => {
    const measured = changes.filter((each) => each.type === 'dimensions')
    setNodes((before) => applyNodeChanges(measured, before))
  }

  return (
    <Picture.Provider value={picture}>
      <div
        className={`studio time ${dark ? 'dark' : 'light'}`}
        ref={box}
        role="group"
        aria-label={`${data.name} at event ${data.event}`}
        style={{ height: data.height, ...data.colors }}
        onKeyDown={onKeyDown}
        data-event={data.event}
      >
        <div className="flow">
          <Graph
            dark={dark}
            nodes={nodes}
            edges={edges}
            edgeTypes={EDGES}
            selectionKeyCode={null}
            nodesDraggable={false}
            nodesConnectable={false}
            zoomOnScroll={false}
            preventScrolling={false}
            onNodesChange={onNodesChange}
            onNodeClick={(_, node) => choose(node.id)}
            onEdgeClick={(_, edge) => choose(edge.id)}
          >
            <Controls showInteractive={false} orientation="horizontal" position="bottom-left" />
          </Graph>
        </div>
      </div>
    </Picture.Provider>
  )
}
