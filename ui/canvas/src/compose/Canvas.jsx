import { useCallback, useEffect, useMemo, useRef, useState } from 'react'
import { Background, Controls, MarkerType, MiniMap, ReactFlow, applyNodeChanges, useReactFlow, useUpdateNodeInternals } from '@xyflow/react'
import { ChangelogEdge } from './ChangelogEdge.jsx'
import { CommandPalette, ShortcutSheet } from './Dialogs.jsx'
import { Note, Tip } from './Notes.jsx'
import { OpNode, Picture } from '../graph/OpNode.jsx'
import { DRAGGED, Palette } from './Palette.jsx'
import { below, copied, edgeKey, freeId, refusal, renamed } from '../document.js'
import { SHORTCUTS, pressed } from './keys.js'
import { HEIGHT, WIDTH, layout } from '../layout.js'
import { useDocument } from './working.js'

const NODES = { op: OpNode }
const EDGES = { changelog: ChangelogEdge }
const CLIPBOARD = 'changelog-studio-clipboard'
const NUDGE_MS = 350
const ARROW = { type: MarkerType.ArrowClosed, width: 16, height: 16 }
const isTyping = (target) => /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName ?? '')

export function Canvas({ data, dark, shadow, send }) {
  const flow = useReactFlow()
  const box = useRef(null)
  const search = useRef(null)
  const nudged = useRef(null)
  const pasted = useRef(0)
  const catalog = useMemo(() => Object.fromEntries(data.catalog.map((each) => [each.operator, each])), [data.catalog])
  const { document, post, isSettled, refused, dismiss } = useDocument(data, catalog, send)
  const positions = useMemo(() => layout(document), [document])
  const [chosen, setChosen] = useState(() => new Set(data.selection ? [data.selection] : []))
  const [nodes, setNodes] = useState([])
  const [tip, setTip] = useState(null)
  const [opened, setOpened] = useState(null) // 'sheet', 'commands', 'connect'
  const [local, setLocal] = useState(null) // a refusal that needs no planner
  const [shown, setShown] = useState(null) // the node whose problems are listed
  const [over, setOver] = useState(null) // the edge that a dragged operator would be put on

  const now = useRef({})
  now.current = { document, positions, chosen, nodes, catalog }

  // The drawn nodes follow the document; what React Flow measured stays, and so does a node that did not change.
  useEffect(() => {
    setNodes((before) => {
      const known = new Map(before.map((node) => [node.id, node]))
      return document.nodes.map((node) => {
        const old = known.get(node.id)
        const taken = {}
        for (const edge of document.edges) if (edge.target === node.id) taken[edge.port] = true
        const fresh = { operator: node.operator, isPlaced: !!node.place, catalog: catalog[node.operator], facts: data.nodes[node.id] ?? {}, isTaken: taken }
        const same = old && JSON.stringify(old.data) === JSON.stringify(fresh) ? old.data : fresh
        const [x, y] = positions[node.id]
        const title = fresh.catalog?.title ?? `${node.operator}?`
        const wrong = fresh.facts.problems?.[0]?.sentence
        return {
          ...(old ?? {}), id: node.id, type: 'op', data: same, selected: chosen.has(node.id), width: WIDTH,
          position: old?.dragging ? old.position : { x, y },
          ariaLabel: `${fresh.catalog?.role ?? 'operator'} ${node.id}, ${title}${wrong ? `, ${wrong}` : ''}`,
          domAttributes: { 'data-pick': node.id },
        }
      })
    })
  }, [document, positions, data.nodes, catalog, chosen])

  // A node that goes and comes back at once can miss React Flow's measuring, and its edges are then not drawn.
  const measure = useUpdateNodeInternals()
  useEffect(() => {
    let later = null
    const look = () => {
      const bare = nodes.map((node) => node.id).filter((id) => !flow.getInternalNode(id)?.internals.handleBounds)
      if (!bare.length) return
      measure(bare)
      later = setTimeout(look, 150)
    }
    later = setTimeout(look, 100)
    return () => clearTimeout(later)
  }, [nodes, flow, measure])

  const edges = useMemo(() => document.edges.map((edge) => {
    const id = edgeKey(edge)
    const facts = data.edges[id] ?? (data.nodes[edge.source]?.mode ? { mode: data.nodes[edge.source].mode } : undefined)
    const mode = facts?.mode ? `, [${facts.mode.map((kind) => ({ '+I': 'I', '-U': 'UB', '+U': 'UA', '-D': 'D' })[kind])}]` : ''
    return {
      id, type: 'changelog', source: edge.source, sourceHandle: edge.out ?? 'out', target: edge.target, targetHandle: edge.port, selected: chosen.has(id),
      data: { facts, isTarget: over === id }, markerEnd: ARROW, ariaLabel: `from ${edge.source} to ${edge.target}${mode}`, domAttributes: { 'data-pick': id },
    }
  }), [document.edges, data.edges, data.nodes, chosen, over])

  // Python selects as well (a problem's "Show", an undo): follow it, but only once it has heard everything.
  const wanted = useRef(data.selection)
  useEffect(() => {
    if (isSettled && data.selection !== wanted.current) {
      wanted.current = data.selection
      setChosen(new Set(data.selection ? [data.selection] : []))
    }
  }, [isSettled, data.selection])

  const select = useCallback((names) => {
    setChosen(new Set(names))
    setShown(null)
    if (names.length === 1 && names[0] !== wanted.current) {
      wanted.current = names[0]
      post({ kind: 'select', what: names[0] })
    }
  }, [post])

  const focus = () => box.current?.focus({ preventScroll: true })
  const selectedNodes = () => document.nodes.filter((node) => chosen.has(node.id)).map((node) => node.id)
  const selectedEdges = () => document.edges.map(edgeKey).filter((key) => chosen.has(key))
  const say = (sentence, at) => { setShown(null); setLocal({ sentence, at }) }
  const act = (message) => {
    const isWhole = message.kind !== 'move' && message.kind !== 'paste' && !message.place && isAllVisible(now.current.positions)
    keepsAll.current = isWhole
    setLocal(null); setShown(null); dismiss(); post(message)
  }
  // Who saw the whole pipeline before an edit sees the whole of it after.
  const isAllVisible = (all) => {
    const area = box.current.querySelector('.flow').getBoundingClientRect()
    const { x, y, zoom } = flow.getViewport()
    return Object.values(all).every(([left, top]) => left * zoom + x >= 0 && top * zoom + y >= 0 && (left + WIDTH) * zoom + x <= area.width && (top + HEIGHT) * zoom + y <= area.height)
  }
  const keepsAll = useRef(false)
  useEffect(() => {
    if (!keepsAll.current || isAllVisible(positions)) return
    const later = setTimeout(() => fit(200), 60)
    return () => clearTimeout(later)
  }, [positions])

  // --- composing
  const add = (operator, place = null, edge = null) => {
    const id = freeId(document, operator)
    const lone = selectedNodes()
    const into = edge ?? (place ? null : selectedEdges()[0] ?? null)
    const after = place || into || lone.length !== 1 || catalog[document.nodes.find((node) => node.id === lone[0]).operator]?.role === 'sink' ? null : lone[0]
    act({ kind: 'add', id, operator, place: edge ? null : place, after, edge: into })
    wanted.current = id
    setChosen(new Set([id]))
    focus()
    if (!place) setTimeout(() => reveal(id), 60)
  }
  const reveal = (id) => {
    const at = now.current.positions[id]
    if (at && !keepsAll.current && !isAllVisible({ [id]: at })) flow.setCenter(at[0] + WIDTH / 2, at[1] + HEIGHT / 2, { zoom: flow.getZoom(), duration: 200 })
  }
  // Of an empty canvas React Flow keeps the wish until there is a node, and would move that from under the pointer.
  const fit = (duration = 200) => now.current.document.nodes.length && flow.fitView({ duration, padding: 0.15, maxZoom: 1 })
  const connect = ({ source, sourceHandle, target, targetHandle }) => {
    const why = refusal(document, catalog, source, target, targetHandle)
    if (why) return say(why, near(target))
    act({ kind: 'connect', source, out: sourceHandle ?? 'out', target, port: targetHandle })
  }
  const remove = () => {
    const message = { kind: 'delete', nodes: selectedNodes(), edges: selectedEdges() }
    if (!message.nodes.length && !message.edges.length) return
    act(message)
    wanted.current = null
    setChosen(new Set())
    focus()
  }
  const copy = () => {
    const piece = copied(document, selectedNodes())
    if (!piece.nodes.length) return false
    const at = Object.fromEntries(piece.nodes.map((node) => [node.id, positions[node.id]]))
    localStorage.setItem(CLIPBOARD, JSON.stringify({ ...piece, at }))
    pasted.current = 0
    return true
  }
  const putDown = (piece, at, aside) => {
    const twin = renamed(document, piece, at, aside)
    act({ kind: 'paste', nodes: twin.nodes, edges: twin.edges })
    const names = twin.nodes.map((node) => node.id)
    wanted.current = names.length === 1 ? names[0] : wanted.current
    setChosen(new Set(names))
    focus()
  }
  const paste = () => {
    const kept = JSON.parse(localStorage.getItem(CLIPBOARD) ?? 'null')
    if (!kept?.nodes.length) return
    pasted.current += 1
    putDown(kept, kept.at, 32 * pasted.current)
  }
  const duplicate = () => {
    const piece = copied(document, selectedNodes())
    if (piece.nodes.length) putDown(piece, positions, 32)
  }
  const relayout = (ids) => {
    const places = Object.fromEntries(document.nodes.filter((node) => node.place && ids.includes(node.id)).map((node) => [node.id, null]))
    if (Object.keys(places).length) act({ kind: 'move', places })
    setTimeout(() => fit(250), 80)
  }
  // What was not dragged stays where it is seen, also where the automatic layout would now put it elsewhere.
  const changed = (places) => Object.fromEntries(Object.entries(places).filter(([id, at]) => now.current.positions[id] && String(at) !== String(now.current.positions[id])))
  const settle = (moved) => {
    if (!Object.keys(moved).length) return
    const places = { ...moved }
    const { document: current, positions: before } = now.current
    const trial = layout({ ...current, nodes: current.nodes.map((node) => (places[node.id] ? { ...node, place: places[node.id] } : node)) })
    for (const node of current.nodes) {
      if (!node.place && !places[node.id] && String(trial[node.id]) !== String(before[node.id])) places[node.id] = before[node.id]
    }
    act({ kind: 'move', places })
  }
  const step = (direction) => {
    const [from] = selectedNodes()
    const edge = document.edges.find((each) => (direction > 0 ? each.source : each.target) === from)
    const to = from === undefined ? document.nodes[0]?.id : edge && (direction > 0 ? edge.target : edge.source)
    if (to === undefined) return
    select([to])
    box.current.querySelector(`[data-pick="${CSS.escape(to)}"]`)?.focus({ preventScroll: true })
  }

  const commands = {
    add: () => search.current.focus(), connect: () => setOpened('connect'), delete: remove, copy, cut: () => { if (copy()) remove() }, paste, duplicate,
    undo: () => act({ kind: 'undo' }), redo: () => act({ kind: 'redo' }),
    all: () => setChosen(new Set(document.nodes.map((node) => node.id))), none: () => { setChosen(new Set()); setLocal(null); setShown(null); dismiss() },
    next: () => step(1), previous: () => step(-1), fit: () => fit(), zoomIn: () => flow.zoomIn(), zoomOut: () => flow.zoomOut(),
    layout: () => relayout(selectedNodes()), layoutAll: () => relayout(document.nodes.map((node) => node.id)),
    run: () => act({ kind: 'run' }), save: () => act({ kind: 'save' }), commands: () => setOpened('commands'), sheet: () => setOpened('sheet'),
  }
  const found = opened === 'commands' || opened === 'connect' ? listed() : []
  function listed() {
    const connections = selectedNodes().length !== 1 ? [] : document.nodes.flatMap((node) => (catalog[node.operator]?.ports ?? []).map((port) => ({ node, port })))
      .filter(({ node, port }) => !refusal(document, catalog, selectedNodes()[0], node.id, port))
      .map(({ node, port }) => ({ text: `Connect ${selectedNodes()[0]} to ${node.id}${catalog[node.operator].ports.length > 1 ? ` (${port})` : ''}`, run: () => connect({ source: selectedNodes()[0], target: node.id, targetHandle: port }) }))
    if (opened === 'connect') return connections
    return [
      ...SHORTCUTS.filter((each) => each.id !== 'commands').map((each) => ({ text: each.text, keys: each.keys, run: commands[each.id] })),
      ...data.catalog.map((each) => ({ text: `Add ${each.title}`, run: () => add(each.operator) })),
      ...connections,
      ...document.nodes.map((node) => ({ text: `Go to ${node.id}`, run: () => { select([node.id]); flow.fitView({ nodes: [{ id: node.id }], duration: 200, maxZoom: 1 }) } })),
    ]
  }

  const onKeyDown = (event) => {
    if (isTyping(event.target) || opened) return
    const name = pressed(event)
    // Streamlit's own hot keys: r runs the app again, c opens a dialog.
    if (!event.ctrlKey && !event.metaKey && /^[rc]$/i.test(event.key)) event.stopPropagation()
    const element = event.target.closest?.('[data-pick]')
    if (element && (event.key === 'Enter' || event.key === ' ') && !event.altKey) {
      event.preventDefault()
      return select([element.dataset.pick])
    }
    if (!name) return
    event.preventDefault()
    event.stopPropagation()
    commands[name]()
  }

  const onNodesChange = (changes) => {
    setNodes((before) => applyNodeChanges(changes.filter((each) => each.type !== 'select' && each.type !== 'remove'), before))
    const picked = changes.filter((each) => each.type === 'select')
    if (picked.length) {
      const next = new Set([...now.current.chosen].filter((name) => !picked.some((each) => each.id === name)))
      for (const each of picked) if (each.selected) next.add(each.id)
      now.current.chosen = next
      select([...next])
    }
    // The arrow keys move without a drag: one edit once they rest.
    if (changes.some((each) => each.type === 'position' && !each.dragging && each.position) && !nodes.some((each) => each.dragging)) {
      const moved = Object.fromEntries(changes.filter((each) => each.type === 'position' && each.position).map((each) => [each.id, [Math.round(each.position.x), Math.round(each.position.y)]]))
      nudged.current = { ...nudged.current, moved: { ...nudged.current?.moved, ...moved } }
      clearTimeout(nudged.current.timer)
      nudged.current.timer = setTimeout(() => { const { moved: all } = nudged.current; nudged.current = null; settle(changed(all)) }, NUDGE_MS)
    }
  }
  const onEdgesChange = (changes) => {
    const picked = changes.filter((each) => each.type === 'select')
    if (!picked.length) return
    const next = new Set([...now.current.chosen].filter((name) => !picked.some((each) => each.id === name)))
    for (const each of picked) if (each.selected) next.add(each.id)
    now.current.chosen = next
    select([...next])
  }

  // --- dragging
  const edgeAt = (x, y) => {
    for (const element of shadow.elementsFromPoint(x, y)) {
      const found = element.closest?.('[data-edge]')?.dataset.edge ?? element.closest?.('.react-flow__edge')?.dataset.pick
      if (found) return found
    }
    return null
  }
  const onDrop = (event) => {
    const operator = event.dataTransfer.getData(DRAGGED)
    if (!operator) return
    event.preventDefault()
    const at = flow.screenToFlowPosition({ x: event.clientX, y: event.clientY })
    setOver(null)
    add(operator, [Math.round(at.x - WIDTH / 2), Math.round(at.y - HEIGHT / 2)], edgeAt(event.clientX, event.clientY))
  }
  const isLone = (id) => !document.edges.some((edge) => edge.source === id || edge.target === id)
  const droppable = (event, node) => {
    if (!isLone(node.id) || catalog[node.data.operator]?.role !== 'operator') return null
    const middle = flow.flowToScreenPosition({ x: node.position.x + WIDTH / 2, y: node.position.y + (node.measured?.height ?? HEIGHT) / 2 })
    return edgeAt(event.clientX, event.clientY) ?? edgeAt(middle.x, middle.y)
  }
  const onNodeDragStop = (event, _, dragged) => {
    const edge = dragged.length === 1 ? droppable(event, dragged[0]) : null
    setOver(null)
    if (edge) return act({ kind: 'insert', node: dragged[0].id, edge })
    const moved = Object.fromEntries(dragged.map((node) => [node.id, [Math.round(node.position.x), Math.round(node.position.y)]]))
    settle(changed(moved))
  }
  const onConnectEnd = (event, state) => {
    if (state.isValid !== false || !state.toNode || !state.fromHandle) return
    const [out, into] = state.fromHandle.type === 'source' ? [state.fromNode, state.toNode] : [state.toNode, state.fromNode]
    const handle = state.fromHandle.type === 'source' ? state.toHandle : state.fromHandle
    const why = state.toHandle?.type === state.fromHandle.type ? `Connect an output to an input: ${state.fromNode.id} and ${state.toNode.id} both offered the same side.` : refusal(document, catalog, out.id, into.id, handle?.id)
    if (why) say(why, near(into.id))
  }

  // --- what is said
  const near = (id) => {
    const at = now.current.positions[id]
    if (!at) return { left: 16, top: 16 }
    const area = box.current.querySelector('.flow').getBoundingClientRect()
    const spot = flow.flowToScreenPosition({ x: at[0], y: at[1] + HEIGHT + 8 })
    return { left: Math.min(Math.max(spot.x - area.left, 8), Math.max(8, area.width - 340)), top: Math.min(Math.max(spot.y - area.top, 8), Math.max(8, area.height - 150)) }
  }
  const timer = useRef(null)
  const hover = useCallback((what) => {
    clearTimeout(timer.current)
    if (!what) return setTip(null)
    const { clientX: x, clientY: y } = what.event
    timer.current = setTimeout(() => setTip({ ...what, x, y }), 250)
  }, [])
  const described = tip && (tip.node
    ? { ...tip, title: tip.node, facts: data.nodes[tip.node] ?? {} }
    : { ...tip, title: edges.find((each) => each.id === tip.edge)?.ariaLabel.replace(/^from /, '').replace(' to ', ' → '), facts: data.edges[tip.edge] ?? {} })
  const picture = useMemo(() => ({ tip: hover, problems: (id) => setShown(id), pick: (id) => select([id]), open: (what) => post({ kind: 'open', ...what }) }), [hover, select, post])
  const note = shown && data.nodes[shown]?.problems?.length
    ? { label: `Problems of ${shown}`, at: near(shown), entries: data.nodes[shown].problems, fix: (entry, text) => act({ kind: 'fix', node: shown, label: text }), close: () => setShown(null) }
    : refused ? { label: 'The connection was refused', at: near(refused.target), entries: [refused], fix: (entry, text) => act({ kind: 'fix', node: '', label: text }), close: () => { dismiss(); focus() } }
      : local && { label: 'The connection was refused', at: local.at, entries: [local], close: () => { setLocal(null); focus() } }

  const where = selectedEdges()[0] ? `Enter puts it on ${selectedEdges()[0].split(':')[0].replace('>', ' → ')}`
    : selectedNodes().length === 1 ? `Enter adds it after ${selectedNodes()[0]}` : 'Drag, double-click or Enter'

  // Undo and redo are the whole page's, but a field that is being typed in has its own.
  const everywhere = useRef(null)
  everywhere.current = (event) => {
    const from = event.composedPath()[0]
    const name = pressed(event)
    if ((name !== 'undo' && name !== 'redo') || opened || isTyping(from) || from.isContentEditable || event.composedPath().includes(box.current)) return
    event.preventDefault()
    commands[name]()
  }
  useEffect(() => {
    const listen = (event) => everywhere.current(event)
    window.addEventListener('keydown', listen)
    return () => window.removeEventListener('keydown', listen)
  }, [])

  useEffect(() => { const later = setTimeout(() => fit(0), 50); return () => clearTimeout(later) }, [])

  return (
    <Picture.Provider value={picture}>
      <div
        className={`studio ${dark ? 'dark' : 'light'}`} ref={box} tabIndex={-1} role="group" aria-label={`${data.name}: ${document.nodes.length} ${document.nodes.length === 1 ? 'node' : 'nodes'}`}
        style={{ height: data.height, ...data.colors }} onKeyDown={onKeyDown} data-settled={isSettled} data-edges={document.edges.length}
      >
        <Palette ref={search} operators={data.catalog} where={where} add={add} leave={focus} />
        <div className="flow">
          <ReactFlow
            nodes={nodes} edges={edges} nodeTypes={NODES} edgeTypes={EDGES} colorMode={dark ? 'dark' : 'light'} minZoom={0.1} maxZoom={2}
            deleteKeyCode={null} onNodesChange={onNodesChange} onEdgesChange={onEdgesChange} onPaneClick={() => { focus(); commands.none() }}
            isValidConnection={(each) => !refusal(document, catalog, each.source, each.target, each.targetHandle)}
            onConnect={connect} onConnectEnd={onConnectEnd} connectionRadius={28} multiSelectionKeyCode={['Shift', 'Control', 'Meta']} selectionKeyCode="Shift"
            onNodeDrag={(event, node, dragged) => setOver(dragged.length === 1 ? droppable(event, node) : null)} onNodeDragStop={onNodeDragStop} onSelectionDragStop={(event, dragged) => onNodeDragStop(event, null, dragged)}
            onEdgeMouseEnter={(event, edge) => hover({ edge: edge.id, event })} onEdgeMouseLeave={() => hover(null)} onMoveStart={() => hover(null)}
            onEdgeDoubleClick={(event, edge) => data.edges[edge.id]?.counts && picture.open({ edge: data.edges[edge.id].output })}
            onDragOver={(event) => { event.preventDefault(); event.dataTransfer.dropEffect = 'copy'; setOver(edgeAt(event.clientX, event.clientY)) }} onDragLeave={() => setOver(null)} onDrop={onDrop}
            proOptions={{ hideAttribution: false }}
          >
            <Background gap={22} size={1.2} />
            <Controls showInteractive={false} />
            {document.nodes.length > 3 && <MiniMap pannable zoomable nodeClassName={(node) => `role-${node.data.catalog?.role ?? 'operator'}`} ariaLabel="Map of the pipeline" />}
          </ReactFlow>
          {!document.nodes.length && (
            <div className="start">
              <p>Drag a source from the left, or press <kbd>A</kbd> and type its name.</p>
            </div>
          )}
          <div className="tools">
            <button onClick={commands.undo} disabled={isSettled && data.history?.past === 0} title="Take back the last edit (Ctrl+Z)">Undo</button>
            <button onClick={commands.redo} disabled={isSettled && data.history?.future === 0} title="Do it again (Ctrl+Shift+Z)">Redo</button>
            <button onClick={() => relayout(document.nodes.map((node) => node.id))} title="Lay out all nodes anew (Shift+L)">Lay out</button>
            <button onClick={() => setOpened('commands')} title="Find a command or a node (Ctrl+K)">Commands</button>
            <button onClick={() => setOpened('sheet')} aria-label="Keyboard shortcuts" title="Keyboard shortcuts (?)">?</button>
          </div>
          {note && <Note {...note} />}
        </div>
        {box.current && !note && !opened && <Tip tip={described} box={box.current} />}
        {(opened === 'commands' || opened === 'connect') && <CommandPalette commands={found} start="" close={() => { setOpened(null); focus() }} />}
        {opened === 'sheet' && <ShortcutSheet close={() => { setOpened(null); focus() }} />}
      </div>
    </Picture.Provider>
  )
}
