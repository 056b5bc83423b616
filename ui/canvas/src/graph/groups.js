// What both canvases draw of groups: a folded one as a node with the facts of its nodes, an open one as a frame.
import { edgeKey } from '../document.js'
import { around, groupId, groupNamed, members } from '../grouping.js'
import { HEIGHT, WIDTH } from '../layout.js'

/** @import { DrawnNode, DrawnPipeline, EdgeFacts, FrameNode, GroupFacts, Kind, NodeFacts, Pipeline, PipelineNode } from '../types' */

const PADDING = 18
export const TITLE = 26

// The worst first.
const STATES = ['failed', 'stopped', 'running', 'waiting', 'done']

/**
 * A folded group as a drawn node; undefined for a node of the document.
 *
 * @param {Pipeline} document
 * @param {PipelineNode} node as it is drawn
 * @param {DrawnPipeline} drawn
 * @param {Partial<Record<string, NodeFacts>>} nodes
 * @param {Partial<Record<string, EdgeFacts>>} edges
 */
export function groupData(document, node, drawn, nodes, edges) {
  const name = groupNamed(node.id)
  if (name === undefined) return undefined
  const inside = members(document, name)
  const facts = inside.flatMap((id) => nodes[id] ?? [])
  const problems = facts.map((each) => each.problems ?? []).filter((each) => each.length)
  const runs = facts.flatMap((each) => each.run ?? [])
  const into = drawn.edges.filter((edge) => edge.target === node.id)
  const from = drawn.edges.filter((edge) => edge.source === node.id)
  const most = (/** @type {'dropped' | 'used' | 'rejected'} */ what) =>
    inside.reduce(
      (best, id) => ((nodes[id]?.run?.[what] ?? 0) > (nodes[best]?.run?.[what] ?? 0) ? id : best),
      inside[0],
    )
  const sum = (/** @type {'dropped' | 'used' | 'rejected'} */ what) => runs.reduce((all, run) => all + run[what], 0)
  /** @type {GroupFacts} */
  const group = {
    name,
    nodes: inside,
    ports: [...new Set(into.map((edge) => edge.port))],
    outputs: [...new Set(from.map((edge) => edge.out))].map((port) => {
      const edge = from.find((each) => each.out === port)
      const mode = edge && (edge.of.out === 'out' ? nodes[edge.of.source]?.mode : undefined)
      return { port, isUpdating: (mode?.length ?? 0) > 1 }
    }),
    wrong: problems.filter((each) => each.some((problem) => !problem.toDo)).length,
    toDo: problems.filter((each) => each.every((problem) => problem.toDo)).length,
    isStateful: facts.some((each) => each.state && each.state !== 'none'),
    isChanged: facts.some((each) => each.since),
    isLit: facts.some((each) => each.isLit),
    run: runs.length
      ? {
          state: STATES.find((state) => runs.some((run) => run.state === state)) ?? runs[0].state,
          in: carried(into, edges),
          out: carried(from, edges),
          ledgers: /** @type {const} */ (['dropped', 'used', 'rejected']).map((what) => ({
            what: what === 'used' ? 'late but used' : what,
            count: sum(what),
            node: most(what),
          })),
        }
      : undefined,
  }
  return group
}

/**
 * The number of records that edges carried in a run; null if that is not known, or there is no edge.
 *
 * @param {DrawnPipeline['edges']} drawn
 * @param {Partial<Record<string, EdgeFacts>>} edges
 */
function carried(drawn, edges) {
  const outputs = new Map(drawn.map(({ of }) => [`${of.source}.${of.out}`, edges[edgeKey(of)]?.counts]))
  const counts = [...outputs.values()]
  if (!counts.length || counts.some((each) => !each)) return null
  const sum = (/** @type {Partial<Record<Kind, number>>} */ each) =>
    Object.values(each).reduce((all, count) => all + count, 0)
  return counts.reduce((all, each) => all + sum(each ?? {}), 0)
}

/**
 * The frames of the open groups, around the places that their nodes have now.
 *
 * @param {DrawnPipeline} drawn
 * @param {DrawnNode[]} nodes
 * @param {Set<string>} [chosen]
 * @returns {FrameNode[]}
 */
export function frames(drawn, nodes, chosen = new Set()) {
  const placed = new Map(nodes.map((node) => [node.id, node]))
  const depth = (/** @type {string} */ name) => around(drawn, name).length
  /** @type {Map<string, { left: number, top: number, right: number, bottom: number }>} */
  const boxes = new Map()
  // From the inside: a frame is around the frames in it.
  for (const { name } of [...drawn.groups].sort((a, b) => depth(b.name) - depth(a.name))) {
    const inner = drawn.groups.flatMap((group) => (group.inside === name ? (boxes.get(group.name) ?? []) : []))
    const own = drawn.nodes.flatMap((node) => {
      const found = node.group === name ? placed.get(node.id) : undefined
      if (!found) return []
      const { x, y } = found.position
      return { left: x, top: y, right: x + WIDTH, bottom: y + (found.measured?.height ?? HEIGHT) }
    })
    const all = [...inner, ...own]
    if (!all.length) continue
    boxes.set(name, {
      left: Math.min(...all.map((box) => box.left)) - PADDING,
      top: Math.min(...all.map((box) => box.top)) - TITLE,
      right: Math.max(...all.map((box) => box.right)) + PADDING,
      bottom: Math.max(...all.map((box) => box.bottom)) + PADDING,
    })
  }
  return [...boxes].map(([name, { left, top, right, bottom }]) => ({
    id: `frame:${name}`,
    type: 'frame',
    position: { x: left, y: top },
    width: right - left,
    height: bottom - top,
    data: { name, count: members(drawn, name).length, isChosen: chosen.has(groupId(name)) },
    zIndex: depth(name) - 100,
    selectable: false,
    draggable: false,
    connectable: false,
    focusable: false,
    style: { pointerEvents: 'none' },
  }))
}
