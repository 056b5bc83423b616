// The pipeline at one event, read-only: edges that carried records for it are lit and show these records.
import { useCallback, useEffect, useMemo, useRef, useState } from 'react'
import { Controls, MarkerType, applyNodeChanges, useReactFlow } from '@xyflow/react'
import { byOperator, edgeKey } from '../document.js'
import { Boxes, tallBoxes } from '../graph/boxes.js'
import { Graph } from '../graph/Graph.jsx'
import { drawnEdge, parallel, pickedBy, useDrawnNodes, useLayout } from '../graph/drawn.js'
import { frames, groupData } from '../graph/groups.js'
import { Picture } from '../graph/picture.js'
import { asDrawn, folded, groupNamed } from '../grouping.js'
import { PictureMenu } from '../picture/PictureMenu.jsx'
import { LitEdge } from './LitEdge.jsx'

/** @import { NodeChange } from '@xyflow/react' */
/** @import { DrawnNode, LitFlowEdge, Pipeline, PipelineNode, TimeData } from '../types' */

const EDGES = { lit: LitEdge }
const GAP = 190 // room for records between the nodes
const ARROW = { type: MarkerType.ArrowClosed, width: 20, height: 20, markerUnits: 'userSpaceOnUse' }
const quiet = () => {}

/** @param {{ data: TimeData, dark: boolean, pick: (what: { node?: string, edge?: string, late?: string }) => void }} props */
export function TimeCanvas({ data, dark, pick }) {
  const flow = useReactFlow()
  const box = useRef(/** @type {HTMLDivElement | null} */ (null))
  const catalog = useMemo(() => byOperator(data.catalog), [data.catalog])
  const text = JSON.stringify(data.document)
  /** @type {Pipeline} */
  const ran = useMemo(() => JSON.parse(text), [text])
  // Groups are folded as they were when the pipeline ran, until somebody folds or opens them here.
  const [asked, setAsked] = useState(0)
  const [states, setStates] = useState(/** @type {Record<string, boolean>} */ ({}))
  const document = useMemo(() => folded(ran, states), [ran, states])
  const { drawn } = useMemo(() => asDrawn(document), [document])
  const unplaced = useMemo(() => ({ ...drawn, nodes: drawn.nodes.map((node) => ({ ...node, place: null })) }), [drawn])
  const positions = useLayout(unplaced, catalog, GAP)
  const boxes = useMemo(() => tallBoxes(positions), [positions])

  const describe = useCallback(
    (/** @type {PipelineNode} */ node, /** @type {Partial<Record<string, true>>} */ isTaken) => {
      const facts = data.nodes[node.id] ?? {}
      // A run can be older than today's operators.
      const unknown = { title: node.operator, role: /** @type {const} */ ('operator'), ports: Object.keys(isTaken) }
      const entry = catalog[node.operator] ?? unknown
      const group = groupData(document, node, drawn, data.nodes, {})
      const isLit = group?.isLit ?? facts.isLit
      const told = group ? `group ${group.name}` : `${entry.role} ${node.id}`
      return {
        data: { operator: node.operator, group, catalog: entry, facts, isTaken },
        draggable: false,
        connectable: false,
        selected: [node.id, ...(group?.nodes ?? [])].includes(data.selected ?? ''),
        className: isLit ? 'lit' : 'unlit',
        ariaLabel: `${told}${isLit ? ', has records for this event' : ''}`,
      }
    },
    [document, drawn, data.nodes, data.selected, catalog],
  )
  const [nodes, setNodes] = useDrawnNodes(drawn, positions, describe)
  const framed = useMemo(() => frames(drawn, nodes), [drawn, nodes])

  /** @type {LitFlowEdge[]} */
  const edges = useMemo(() => {
    const nth = parallel(drawn.edges)
    return drawn.edges.map((edge) => {
      const line = drawnEdge(edge)
      const facts = data.edges[line.id] ?? {}
      const records = facts.records?.map((record) => `${record.kind} ${record.title}`).join('; ')
      return {
        ...line,
        type: 'lit',
        data: { facts, nth: nth[line.id] },
        className: records ? 'lit' : 'unlit',
        selected: data.shown === facts.edge,
        zIndex: records ? 1 : 0,
        markerEnd: ARROW,
        ariaLabel: `from ${edge.of.source} to ${edge.of.target}: ${records ?? 'no records'}`,
      }
    })
  }, [drawn.edges, data.edges, data.shown])

  const fold = useCallback((/** @type {string} */ name, /** @type {boolean} */ isFolded) => {
    setStates((before) => ({ ...before, [name]: isFolded }))
  }, [])
  const choose = useCallback(
    (/** @type {string} */ id) => {
      const group = groupNamed(id)
      if (group !== undefined) return fold(group, false)
      const edge = document.edges.find((each) => edgeKey(each) === id)
      pick(edge ? { edge: data.edges[id]?.edge ?? edge.source } : { node: id })
    },
    [document.edges, data.edges, pick, fold],
  )
  const picture = useMemo(
    () => ({
      tip: quiet,
      problems: quiet,
      open: (/** @type {{ late?: string }} */ { late }) => late !== undefined && pick({ late }),
      pick: choose,
      fold,
    }),
    [choose, pick, fold],
  )

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
    if (event.key.toLowerCase() === 'i' && !event.ctrlKey && !event.metaKey) setAsked(asked + 1)
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
      <Boxes.Provider value={boxes}>
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
              framed={framed}
              nodes={nodes}
              edges={edges}
              edgeTypes={EDGES}
              selectionKeyCode={null}
              nodesDraggable={false}
              nodesConnectable={false}
              zoomOnScroll={false}
              preventScrolling={false}
              onNodesChange={onNodesChange}
              onNodeClick={({ target }, node) => {
                // A button on a node does its own.
                if (!(target instanceof Element && target.closest('button'))) choose(node.id)
              }}
              onEdgeClick={(_, edge) => choose(edge.id)}
            >
              <Controls showInteractive={false} orientation="horizontal" position="bottom-left">
                <PictureMenu
                  drawn={() => ({ ...data, document })}
                  places={positions}
                  name={`${data.name}-event-${data.event}`}
                  dark={dark}
                  asked={asked}
                />
              </Controls>
            </Graph>
          </div>
        </div>
      </Boxes.Provider>
    </Picture.Provider>
  )
}
