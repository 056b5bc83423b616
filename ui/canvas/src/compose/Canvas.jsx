// The canvas on which a pipeline is composed: it combines the files beside it.
import { useCallback, useEffect, useMemo, useRef, useState } from 'react'
import { Controls, MarkerType, applyNodeChanges, useReactFlow } from '@xyflow/react'
import { Graph } from '../graph/Graph.jsx'
import { byOperator } from '../document.js'
import { drawnEdge, useDrawnNodes, useLayout } from '../graph/drawn.js'
import { frames, groupData } from '../graph/groups.js'
import { useLatest } from '../graph/latest.js'
import { Picture } from '../graph/picture.js'
import { around, asDrawn, groupId, groupNamed } from '../grouping.js'
import { PictureMenu } from '../picture/PictureMenu.jsx'
import { ChangelogEdge, badgeForms } from './ChangelogEdge.jsx'
import { CommandPalette, ShortcutSheet } from './Dialogs.jsx'
import { Note } from './Notes.jsx'
import { Overview } from './Overview.jsx'
import { Palette } from './Palette.jsx'
import { Tip } from './Tip.jsx'
import { Toolbar } from './Toolbar.jsx'
import { useClipboard } from './clipboard.js'
import { allCommands, connectionCommands } from './commands.js'
import { useDragging } from './dragging.js'
import { gestures, onlyEdge } from './gestures.js'
import { useKeyboard } from './keyboard.js'
import { edgeFacts, modeSuffix, useNotes, useTip } from './notices.js'
import { usePalette } from './opening.js'
import { useSelection } from './selection.js'
import { enterForm, isFormOpen, useMeasuring, useViewport } from './viewport.js'
import { useDocument } from './working.js'

/** @import { EdgeChange, NodeChange } from '@xyflow/react' */
/** @import { CanvasData, ChangelogFlowEdge, DrawnNode, Flow, Gesture, Sent } from '../types' */
/** @import { Commands } from './commands.js' */
/** @import { Follow } from './selection.js' */

const EDGES = { changelog: ChangelogEdge }
// The keys of a presentation, where no story and no event is stepped through.
const STEP = 'changelog-studio-step'
// Between two nodes, so that a room can read the counts of an edge.
const PRESENTED_GAP = 150
const ARROW = { type: MarkerType.ArrowClosed, width: 16, height: 16 }

/** @param {{ data: CanvasData, dark: boolean, shadow: DocumentOrShadowRoot, send: (sent: Sent) => void }} props */
export function Canvas({ data, dark, shadow, send }) {
  const flow = /** @type {Flow} */ (/** @type {unknown} */ (useReactFlow()))
  const box = useRef(/** @type {HTMLDivElement | null} */ (null))
  const search = useRef(/** @type {HTMLInputElement | null} */ (null))
  const [opened, setOpened] = useState(/** @type {'sheet' | 'commands' | 'connect' | null} */ (null))
  const [asked, setAsked] = useState(0)
  const focus = () => box.current?.focus({ preventScroll: true })

  const catalog = useMemo(() => byOperator(data.catalog), [data.catalog])
  const offered = useMemo(() => data.catalog.filter((each) => !each.hidden), [data.catalog])
  const { document, post, isSettled, refused, dismiss } = useDocument(data, catalog, send)
  const palette = usePalette(search, !document.nodes.length)
  const { drawn, drawnAs } = useMemo(() => asDrawn(document), [document])
  const positions = useLayout(drawn, catalog, data.presented ? PRESENTED_GAP : undefined)
  const placed = useMemo(() => new Set(drawn.nodes.flatMap((node) => (node.place ? [node.id] : []))), [drawn])
  const viewport = useViewport(flow, box, positions, placed, data.selection, !!data.presented)
  const selection = useSelection(document, data.selection, isSettled, post)
  const notes = useNotes(data.nodes, refused, dismiss)
  const { hover, tip } = useTip(data, document, drawn, catalog)

  const act = (/** @type {Gesture} */ gesture) => {
    viewport.prepare(gesture)
    notes.clear()
    post(gesture)
  }
  /** @type {Follow} */
  const follow = (names, what) => {
    selection.follow(names, what)
    focus()
  }
  const { showProblems } = notes
  const { chosen, select: selectAndTell } = selection
  const select = useCallback(
    (/** @type {string[]} */ names) => {
      selectAndTell(names)
      showProblems(null)
    },
    [selectAndTell, showProblems],
  )

  const edits = gestures({ document, drawn, catalog, selection, viewport, act, follow, refuse: notes.refuse })
  const { add, connect, relayout } = edits
  const { copy, paste, duplicate } = useClipboard(document, positions, selection, act, follow)
  /** @type {typeof add} */
  const drop = (...added) => {
    palette.close()
    add(...added)
  }
  const { over, nudge, handlers } = useDragging({ flow, shadow, document: drawn, positions, catalog, act, add: drop })

  // --- what is drawn
  const describe = useCallback(
    (/** @type {import('../types').PipelineNode} */ node, /** @type {Partial<Record<string, true>>} */ isTaken) => {
      const facts = data.nodes[node.id] ?? {}
      const entry = catalog[node.operator]
      const wrong = facts.problems?.[0]?.sentence
      const group = groupData(document, node, drawn, data.nodes, data.edges)
      const names = [node.id, ...around(document, node.group).map(groupId), ...(group?.nodes ?? [])]
      const told = group
        ? [`group ${group.name}`, `${group.nodes.length} nodes`]
        : [`${entry?.role ?? 'operator'} ${node.id}`, entry?.title ?? `${node.operator}?`, wrong]
      return {
        data: { operator: node.operator, group, isPlaced: !!node.place, catalog: entry, facts, isTaken },
        selected: names.some((name) => chosen.has(name)),
        ariaLabel: told.filter(Boolean).join(', '),
      }
    },
    [document, drawn, data.nodes, data.edges, catalog, chosen],
  )
  const [nodes, setNodes] = useDrawnNodes(drawn, positions, describe)
  const framed = useMemo(() => frames(drawn, nodes, chosen), [drawn, nodes, chosen])
  useMeasuring(flow, nodes)

  /** @type {ChangelogFlowEdge[]} */
  const edges = useMemo(() => {
    return drawn.edges.map((edge) => {
      const line = drawnEdge(edge)
      const facts = edgeFacts(data, edge.of)
      return {
        ...line,
        type: 'changelog',
        data: { facts, isTarget: over === line.id },
        selected: chosen.has(line.id),
        markerEnd: ARROW,
        ariaLabel: `from ${edge.of.source} to ${edge.of.target}${modeSuffix(facts)}`,
      }
    })
  }, [drawn.edges, data, chosen, over])

  const { fold } = edits
  const folding = useLatest(fold)
  const picture = useMemo(
    () => ({
      fold: (/** @type {string} */ name, /** @type {boolean} */ isFolded) => folding.current([name], isFolded),
      tip: hover,
      problems: showProblems,
      pick: (/** @type {string} */ id) => select([id]),
      open: (/** @type {{ edge?: string, late?: string, state?: string }} */ what) => post({ kind: 'open', ...what }),
    }),
    [hover, showProblems, select, post, folding],
  )

  // --- what can be done
  const everything = document.nodes.map((node) => node.id)
  const goTo = (/** @type {string | undefined} */ to) => {
    if (to === undefined) return
    select([to])
    const element = box.current?.querySelector(`[data-pick="${CSS.escape(to)}"]`)
    if (element instanceof HTMLElement) element.focus({ preventScroll: true })
  }
  const present = useLatest((/** @type {number} */ by) =>
    goTo(drawn.nodes[drawn.nodes.findIndex(({ id }) => chosen.has(id)) + by]?.id),
  )
  useEffect(() => {
    if (!data.presented) return
    const listen = (/** @type {Event} */ event) => present.current(/** @type {CustomEvent<number>} */ (event).detail)
    window.addEventListener(STEP, listen)
    return () => window.removeEventListener(STEP, listen)
  }, [data.presented, present])
  const visit = (/** @type {string} */ id) => {
    select([id])
    edits.uncover(id)
    setTimeout(() => flow.fitView({ nodes: [{ id }], duration: 200, maxZoom: 1 }), drawnAs.get(id) === id ? 0 : 120)
  }
  /** @type {Commands} */
  const commands = {
    add: palette.open,
    connect: () => setOpened('connect'),
    delete: edits.remove,
    copy,
    cut: () => {
      if (copy()) edits.remove()
    },
    paste,
    duplicate,
    undo: () => act({ kind: 'undo' }),
    redo: () => act({ kind: 'redo' }),
    all: () => selection.follow(everything),
    none: () => {
      selection.clear(isFormOpen())
      notes.clear()
    },
    next: () => goTo(edits.neighbour(1)),
    previous: () => goTo(edits.neighbour(-1)),
    form: enterForm,
    fit: () => viewport.fit(),
    zoomIn: () => flow.zoomIn(),
    zoomOut: () => flow.zoomOut(),
    layout: () => relayout(selection.nodes),
    layoutAll: () => relayout(everything),
    group: edits.group,
    ungroup: edits.ungroup,
    picture: () => setAsked(asked + 1),
    fold: edits.foldSelected,
    foldAll: edits.foldAll,
    run: () => act({ kind: 'run' }),
    save: () => act({ kind: 'save' }),
    commands: () => setOpened('commands'),
    sheet: () => setOpened('sheet'),
  }
  const keyboard = useKeyboard(box, commands, opened !== null, chosen, select)
  const listed = () => {
    const connections = connectionCommands(document, catalog, selection.nodes, edits)
    if (opened === 'connect') return connections
    const places = everything.map((id) => ({ text: `Go to ${id}`, run: () => visit(id) }))
    return allCommands(commands, { ...edits, add: drop }, offered, connections, places, data)
  }
  const leavePalette = () => {
    palette.close()
    focus()
  }
  const closeDialog = () => {
    setOpened(null)
    focus()
  }

  const onNodesChange = (/** @type {NodeChange<DrawnNode>[]} */ changes) => {
    const drawn = changes.filter((each) => each.type !== 'select' && each.type !== 'remove')
    setNodes((before) => applyNodeChanges(drawn, before))
    if (selection.take(changes)) showProblems(null)
    nudge(changes, nodes)
  }
  const onEdgesChange = (/** @type {EdgeChange<ChangelogFlowEdge>[]} */ changes) => {
    if (selection.take(changes)) showProblems(null)
  }

  // React Flow compares a click with its last render. On a busy machine, the selection may have changed since.
  const onClick = (/** @type {import('react').MouseEvent} */ event, /** @type {{ id: string }} */ { id }) => {
    if (!event.shiftKey && !event.ctrlKey && !event.metaKey) selectAndTell([id])
  }

  const note = notes.note(viewport, act, focus)
  const count = everything.length
  return (
    <Picture.Provider value={picture}>
      <div
        className={`studio ${dark ? 'dark' : 'light'} ${data.presented ? 'presented' : ''}`}
        ref={box}
        tabIndex={-1}
        role="group"
        aria-label={`${data.name}: ${count} ${count === 1 ? 'node' : 'nodes'}`}
        style={data.colors}
        {...keyboard}
        data-settled={isSettled}
        data-edges={drawn.edges.length}
      >
        {palette.isOpen && (
          <Palette
            ref={search}
            operators={offered}
            where={whereAdded(selection.edges, selection.nodes, onlyEdge(document, selection.nodes))}
            add={(operator, isFork) => drop(operator, null, null, isFork)}
            leave={leavePalette}
            close={leavePalette}
          />
        )}
        <div className="flow">
          <Graph
            dark={dark}
            isPresented={data.presented}
            nodesDraggable={!data.presented}
            framed={framed}
            nodes={nodes}
            edges={edges}
            edgeTypes={EDGES}
            forms={badgeForms}
            multiSelectionKeyCode={['Shift', 'Control', 'Meta']}
            selectionKeyCode="Shift"
            onNodesChange={onNodesChange}
            onEdgesChange={onEdgesChange}
            onNodeClick={onClick}
            onNodeDoubleClick={(_, { id }) => {
              const name = groupNamed(id)
              if (name !== undefined) fold([name], false)
            }}
            onEdgeClick={onClick}
            onPaneClick={() => {
              if (count) palette.close()
              focus()
              selection.clear(isFormOpen())
              notes.clear()
            }}
            isValidConnection={edits.canConnect}
            onConnect={connect}
            onConnectEnd={edits.onConnectEnd}
            connectionRadius={28}
            onEdgeMouseEnter={(event, edge) => hover({ edge: edge.id, event })}
            onEdgeMouseLeave={() => hover(null)}
            onMoveStart={(event) => {
              hover(null)
              if (event) viewport.choose()
            }}
            onEdgeDoubleClick={(_, edge) => picture.open({ edge: data.edges[edge.id]?.output ?? edge.source })}
            proOptions={{ hideAttribution: false }}
            {...handlers}
          >
            <Controls showInteractive={false}>
              <PictureMenu
                drawn={() => ({ ...data, document })}
                places={positions}
                name={data.name}
                dark={dark}
                asked={asked}
              />
            </Controls>
            {count > 0 && <Overview places={positions} />}
          </Graph>
          {!count && (
            <div className="start">
              <p>
                Add a source with <b>+ Add</b> or the key <kbd>A</kbd>.
              </p>
            </div>
          )}
          <Toolbar commands={commands} history={isSettled ? data.history : undefined} />
          {note && <Note {...note} />}
        </div>
        {box.current && !note && !opened && <Tip tip={tip} box={box.current} />}
        {(opened === 'commands' || opened === 'connect') && <CommandPalette commands={listed()} close={closeDialog} />}
        {opened === 'sheet' && <ShortcutSheet close={closeDialog} />}
      </div>
    </Picture.Provider>
  )
}

/**
 * Describe where a click or Enter in the palette adds a node.
 *
 * @param {string[]} edges the selected ones
 * @param {string[]} nodes
 * @param {string | null} between the edge to the only consumer
 */
function whereAdded([edge], nodes, between) {
  const ends = (edge ?? between)?.split(':')[0].replace('>', ' → ')
  if (edge) return `A click or Enter inserts it on ${ends}`
  if (between) return `A click or Enter inserts it on ${ends}, with Shift beside that, from the same input`
  return nodes.length === 1 ? `A click or Enter adds it after ${nodes[0]}` : 'Drag, click, or press Enter'
}
