// The pipeline at one event, read-only: edges that carried records for it are lit and show these records.
import { useCallback, useEffect, useMemo, useRef, useState } from 'react'
import { Controls, MarkerType, applyNodeChanges, useReactFlow } from '@xyflow/react'
import { byOperator, edgeKey } from '../document.js'
import { LEAST_PRESENTED, MOST_PRESENTED, followed, seenAs } from '../graph/camera.js'
import { Graph } from '../graph/Graph.jsx'
import { drawnEdge, pickedBy, useDrawnNodes, useLayout } from '../graph/drawn.js'
import { frames, groupData } from '../graph/groups.js'
import { Picture } from '../graph/picture.js'
import { asDrawn, folded, groupNamed } from '../grouping.js'
import { PictureMenu } from '../picture/PictureMenu.jsx'
import { LitEdge } from './LitEdge.jsx'
import { recordForms } from './record_sizes.js'

/** @import { NodeChange } from '@xyflow/react' */
/** @import { DrawnNode, LitFlowEdge, Pipeline, PipelineNode, TimeData } from '../types' */

const EDGES = { lit: LitEdge }
// Room for records between the nodes: in a presentation for larger ones.
const GAP = 190
const WIDE_GAP = 250
// Names fit into their nodes from this zoom on, and values between them.
const LEAST = 0.55
const TO_MS = 300
const ALONG_MS = 1300
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
  const positions = useLayout(unplaced, catalog, data.presented ? WIDE_GAP : GAP)

  const groups = useMemo(
    () => new Map(drawn.nodes.map((node) => [node.id, groupData(document, node, drawn, data.nodes, {})])),
    [document, drawn, data.nodes],
  )
  const isLit = useCallback(
    (/** @type {string} */ id) => Boolean(groups.get(id)?.isLit ?? data.nodes[id]?.isLit),
    [groups, data.nodes],
  )
  const describe = useCallback(
    (/** @type {PipelineNode} */ node, /** @type {Partial<Record<string, true>>} */ isTaken) => {
      const facts = data.nodes[node.id] ?? {}
      // A run can be older than today's operators.
      const unknown = { title: node.operator, role: /** @type {const} */ ('operator'), ports: Object.keys(isTaken) }
      const entry = catalog[node.operator] ?? unknown
      const group = groups.get(node.id) ?? undefined
      const told = group ? `group ${group.name}` : `${entry.role} ${node.id}`
      return {
        data: { operator: node.operator, group, catalog: entry, facts, isTaken },
        draggable: false,
        connectable: false,
        selected: [node.id, ...(group?.nodes ?? [])].includes(data.selected ?? ''),
        className: isLit(node.id) ? 'lit' : 'unlit',
        ariaLabel: `${told}${isLit(node.id) ? ', has records for this event' : ''}`,
      }
    },
    [groups, isLit, data.nodes, data.selected, catalog],
  )
  const [nodes, setNodes] = useDrawnNodes(drawn, positions, describe)
  const framed = useMemo(() => frames(drawn, nodes), [drawn, nodes])

  /** @type {LitFlowEdge[]} */
  const edges = useMemo(() => {
    return drawn.edges.map((edge) => {
      const line = drawnEdge(edge)
      const facts = data.edges[line.id] ?? {}
      const records = facts.records?.map((record) => `${record.kind} ${record.title}`).join('; ')
      return {
        ...line,
        type: 'lit',
        data: { facts },
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

  // The whole pipeline stays in view, also when the page changes its width. Where it would be too small to read, the view
  // follows the records.
  const lit = useMemo(() => drawn.nodes.flatMap(({ id }) => (isLit(id) ? [id] : [])), [drawn, isLit])
  const litNow = lit.join()
  const fit = useCallback(
    () =>
      flow.fitView({
        padding: { x: '12px', top: '14px', bottom: '30px' },
        maxZoom: data.presented ? MOST_PRESENTED : 1,
      }),
    [flow, data.presented],
  )
  useEffect(() => {
    /** @type {ReturnType<typeof setTimeout>[]} */
    let later = []
    const look = () => {
      for (const each of later) clearTimeout(each)
      later = []
      const size = box.current?.getBoundingClientRect()
      const least = data.presented ? LEAST_PRESENTED : LEAST
      const parts = size ? followed(positions, litNow.split(',').filter(Boolean), size, least) : []
      if (!parts.length || !size) return fit()
      const isCalm = matchMedia('(prefers-reduced-motion: reduce)').matches
      const to = (/** @type {import('../graph/camera.js').Part} */ part, /** @type {number} */ duration) =>
        void flow.setViewport(seenAs(part, size), isCalm ? {} : { duration, interpolate: 'linear' })
      to(parts[0], TO_MS)
      if (parts[1] && !isCalm) later.push(setTimeout(() => to(parts[1], ALONG_MS), TO_MS * 2))
    }
    later.push(setTimeout(look, 60))
    const watch = new ResizeObserver(look)
    if (box.current) watch.observe(box.current)
    return () => {
      for (const each of later) clearTimeout(each)
      watch.disconnect()
    }
  }, [fit, flow, positions, data.presented, data.event, litNow])

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
      <div
        className={`studio time ${dark ? 'dark' : 'light'} ${data.presented ? 'presented' : ''}`}
        ref={box}
        role="group"
        aria-label={`${data.name} at event ${data.event}`}
        style={{ height: data.height ?? '100%', ...data.colors }}
        onKeyDown={onKeyDown}
        data-event={data.event}
      >
        <div className="flow">
          <Graph
            dark={dark}
            isPresented={data.presented}
            isFollowed
            framed={framed}
            nodes={nodes}
            edges={edges}
            edgeTypes={EDGES}
            forms={recordForms}
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
    </Picture.Provider>
  )
}
