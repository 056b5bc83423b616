// The pipeline at one event, to be read: edges that carried records for it are lit, each with its records.
import { useCallback, useEffect, useMemo, useRef, useState } from 'react'
import { Background, Controls, MarkerType, ReactFlow, applyNodeChanges, useReactFlow } from '@xyflow/react'
import { LitEdge } from './LitEdge.jsx'
import { OpNode, Picture } from '../graph/OpNode.jsx'
import { edgeKey } from '../document.js'
import { WIDTH, layout } from '../layout.js'

const NODES = { op: OpNode }
const EDGES = { lit: LitEdge }
const GAP = 190 // room for records between the nodes
const quiet = () => {}

// The layout knows no ports: inputs that stand one above the other come in the order of the ports that they feed.
function uncrossed(positions, document, catalog) {
  const found = { ...positions }
  for (const node of document.nodes) {
    const ports = catalog[node.operator]?.ports ?? []
    const feeds = document.edges.filter((edge) => edge.target === node.id).sort((a, b) => ports.indexOf(a.port) - ports.indexOf(b.port))
    const sources = [...new Set(feeds.map((edge) => edge.source))]
    const alone = sources.every((id) => document.edges.filter((edge) => edge.source === id || edge.target === id).length === 1)
    if (sources.length < 2 || !alone || new Set(sources.map((id) => found[id][0])).size > 1) continue
    const heights = sources.map((id) => positions[id][1]).sort((a, b) => a - b)
    sources.forEach((id, at) => { found[id] = [found[id][0], heights[at]] })
  }
  return found
}

export function TimeCanvas({ data, dark, pick }) {
  const flow = useReactFlow()
  const box = useRef(null)
  const catalog = useMemo(() => Object.fromEntries(data.catalog.map((each) => [each.operator, each])), [data.catalog])
  const text = JSON.stringify(data.document)
  const document = useMemo(() => JSON.parse(text), [text])
  const positions = useMemo(() => uncrossed(layout({ ...document, nodes: document.nodes.map((node) => ({ ...node, place: null })) }, GAP), document, catalog), [document, catalog])
  const [nodes, setNodes] = useState([])

  // What React Flow measured stays, and so does a node that did not change.
  useEffect(() => {
    setNodes((before) => {
      const known = new Map(before.map((node) => [node.id, node]))
      return document.nodes.map((node) => {
        const taken = Object.fromEntries(document.edges.filter((edge) => edge.target === node.id).map((edge) => [edge.port, true]))
        const facts = data.nodes[node.id] ?? {}
        // A run can be older than the operators of today.
        const described = catalog[node.operator] ?? { title: node.operator, role: 'operator', ports: Object.keys(taken) }
        const fresh = { operator: node.operator, catalog: described, facts, isTaken: taken }
        const old = known.get(node.id)
        const same = old && JSON.stringify(old.data) === JSON.stringify(fresh) ? old.data : fresh
        const [x, y] = positions[node.id]
        return {
          ...(old ?? {}), id: node.id, type: 'op', data: same, position: { x, y }, width: WIDTH, draggable: false, connectable: false,
          selected: data.selected === node.id, className: facts.isLit ? 'lit' : 'unlit', domAttributes: { 'data-pick': node.id },
          ariaLabel: `${fresh.catalog?.role ?? 'operator'} ${node.id}${facts.isLit ? ', touched by the event' : ''}`,
        }
      })
    })
  }, [document, positions, data.nodes, data.selected, catalog])

  const edges = useMemo(() => document.edges.map((edge) => {
    const id = edgeKey(edge)
    const facts = data.edges[id] ?? {}
    const said = facts.records?.map((record) => `${record.kind} ${record.title}`).join('; ')
    return {
      id, type: 'lit', source: edge.source, sourceHandle: edge.out ?? 'out', target: edge.target, targetHandle: edge.port,
      data: { facts }, className: said ? 'lit' : 'unlit', selected: data.shown === facts.edge, zIndex: said ? 1 : 0,
      markerEnd: { type: MarkerType.ArrowClosed, width: 20, height: 20, markerUnits: 'userSpaceOnUse' }, domAttributes: { 'data-pick': id },
      ariaLabel: `from ${edge.source} to ${edge.target}: ${said ?? 'no records'}`,
    }
  }), [document.edges, data.edges, data.shown])

  const choose = useCallback((id) => {
    const edge = document.edges.find((each) => edgeKey(each) === id)
    pick(edge ? { edge: data.edges[id]?.edge ?? edge.source } : { node: id })
  }, [document.edges, data.edges, pick])
  const picture = useMemo(() => ({ tip: quiet, problems: quiet, open: quiet, pick: choose }), [choose])

  // The whole pipeline is seen, also when the page changes its width.
  const fit = useCallback(() => flow.fitView({ padding: { x: '12px', top: '14px', bottom: '30px' }, maxZoom: 1 }), [flow])
  useEffect(() => {
    const later = setTimeout(fit, 60)
    const watch = new ResizeObserver(() => fit())
    watch.observe(box.current)
    return () => { clearTimeout(later); watch.disconnect() }
  }, [fit, positions])

  const onKeyDown = (event) => {
    const found = event.target.closest?.('[data-pick]')
    if (!found || (event.key !== 'Enter' && event.key !== ' ')) return
    event.preventDefault()
    event.stopPropagation()
    choose(found.dataset.pick)
  }

  return (
    <Picture.Provider value={picture}>
      <div
        className={`studio time ${dark ? 'dark' : 'light'}`} ref={box} role="group" aria-label={`${data.name} at event ${data.event}`}
        style={{ height: data.height, ...data.colors }} onKeyDown={onKeyDown} data-event={data.event}
      >
        <div className="flow">
          <ReactFlow
            nodes={nodes} edges={edges} nodeTypes={NODES} edgeTypes={EDGES} colorMode={dark ? 'dark' : 'light'} minZoom={0.1} maxZoom={2}
            deleteKeyCode={null} selectionKeyCode={null} nodesDraggable={false} nodesConnectable={false}
            zoomOnScroll={false} preventScrolling={false} onNodesChange={(changes) => setNodes((before) => applyNodeChanges(changes.filter((each) => each.type === 'dimensions'), before))}
            onNodeClick={(_, node) => choose(node.id)} onEdgeClick={(_, edge) => choose(edge.id)}
          >
            <Background gap={22} size={1.2} />
            <Controls showInteractive={false} orientation="horizontal" position="bottom-left" />
          </ReactFlow>
        </div>
      </div>
    </Picture.Provider>
  )
}
