// Where the nodes stand. A node that somebody placed stays there; the others are laid out from left to right, and a
// node that has only placed neighbours keeps to them.
import dagre from '@dagrejs/dagre'

export const WIDTH = 200
export const HEIGHT = 86
const GAP_X = 136
const GAP_Y = 46

export function layout(document, gap = GAP_X) {
  const graph = new dagre.graphlib.Graph()
  graph.setGraph({ rankdir: 'LR', nodesep: GAP_Y, ranksep: gap, marginx: 40, marginy: 40 })
  graph.setDefaultEdgeLabel(() => ({}))
  const known = new Set(document.nodes.map((node) => node.id))
  for (const node of document.nodes) graph.setNode(node.id, { width: WIDTH, height: HEIGHT })
  for (const edge of document.edges) if (known.has(edge.source) && known.has(edge.target)) graph.setEdge(edge.source, edge.target)
  dagre.layout(graph)
  const found = {}
  for (const node of document.nodes) if (node.place) found[node.id] = node.place
  for (const node of document.nodes) {
    if (node.place) continue
    found[node.id] = freed(near(document, node.id, found, graph) ?? corner(graph, node.id), found)
  }
  return found
}

function corner(graph, id) {
  const { x, y } = graph.node(id)
  return [Math.round(x - WIDTH / 2), Math.round(y - HEIGHT / 2)]
}

function near(document, id, found, graph) {
  const before = document.edges.filter((edge) => edge.target === id).map((edge) => edge.source)
  const after = document.edges.filter((edge) => edge.source === id).map((edge) => edge.target)
  const placed = (name) => document.nodes.find((node) => node.id === name)?.place
  const all = [...before, ...after]
  if (!all.length || !all.every(placed)) return null
  const height = (names) => names.reduce((sum, name) => sum + found[name][1], 0) / names.length
  if (before.length && after.length) {
    return [Math.round((Math.max(...before.map((name) => found[name][0])) + Math.min(...after.map((name) => found[name][0]))) / 2), Math.round(height(all))]
  }
  if (before.length) return [Math.max(...before.map((name) => found[name][0])) + WIDTH + GAP_X, Math.round(height(before))]
  return [Math.min(...after.map((name) => found[name][0])) - WIDTH - GAP_X, Math.round(height(after))]
}

function freed([x, y], found) {
  const taken = Object.values(found)
  let at = y
  while (taken.some(([left, top]) => Math.abs(left - x) < WIDTH + 20 && Math.abs(top - at) < HEIGHT + 20)) at += HEIGHT / 2
  return [x, Math.round(at)]
}
