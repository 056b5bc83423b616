// The document as the canvas shows it before Python has answered: the same edits as `ui/builder/editing.py`, so that nothing
// waits for a round trip. Python's answer is the truth, and replaces this as soon as it has seen every message.

/** @import { Catalog, Gesture, Pipeline, PipelineEdge, PipelineNode, Places } from './types' */

/**
 * An edge as a word.
 *
 * @param {PipelineEdge} edge
 */
export const edgeKey = (edge) =>
  `${edge.source}${(edge.out ?? 'out') === 'out' ? '' : `.${edge.out}`}>${edge.target}:${edge.port}`

/**
 * @param {Pipeline} document
 * @param {string} wanted
 * @param {string[]} [alsoTaken]
 */
export function freeId(document, wanted, alsoTaken = []) {
  const taken = new Set([
    ...document.nodes.map((node) => node.id.toLowerCase()),
    ...alsoTaken.map((id) => id.toLowerCase()),
  ])
  const base = wanted.replace(/_\d+$/, '')
  let number = 1
  let found = base
  while (taken.has(found.toLowerCase())) found = `${base}_${++number}`
  return found
}

/**
 * Everything that a node's output reaches.
 *
 * @param {Pipeline} document
 * @param {string} id
 */
export function below(document, id) {
  /** @type {Set<string>} */
  const found = new Set()
  const waiting = [id]
  while (waiting.length) {
    const from = waiting.pop()
    for (const edge of document.edges) {
      if (edge.source === from && !found.has(edge.target)) {
        found.add(edge.target)
        waiting.push(edge.target)
      }
    }
  }
  return found
}

/**
 * Why two ends cannot be joined whatever the columns are, as a sentence; null where they can.
 *
 * @param {Pipeline} document
 * @param {Catalog} catalog
 * @param {string} source
 * @param {string} target
 * @param {string | null} [port]
 */
export function refusal(document, catalog, source, target, port) {
  const operator = (/** @type {string} */ id) => catalog[document.nodes.find((node) => node.id === id)?.operator ?? '']
  if (source === target) return `${source} cannot flow into itself.`
  if (operator(source)?.role === 'sink') return `${source} is a sink: nothing flows out of it.`
  if (operator(target)?.ports.includes(port ?? '') === false) return `${target} has no input ${port}.`
  if (below(document, target).has(source)) {
    return `${source} cannot flow into ${target}, because ${target} flows into ${source} already. Remove one of the edges between.`
  }
  return null
}

/**
 * The first input port that can take one more edge.
 *
 * @param {Pipeline} document
 * @param {Catalog} catalog
 * @param {PipelineNode} node
 */
function freePort(document, catalog, node) {
  const operator = catalog[node.operator]
  return operator?.ports.find(
    (port) => operator.many || !document.edges.some((edge) => edge.target === node.id && edge.port === port),
  )
}

/**
 * @param {Pipeline} document
 * @param {Catalog} catalog
 * @param {Extract<Gesture, { kind: 'add' }>} gesture
 * @returns {Pipeline}
 */
function withNode(document, catalog, { id, operator, place = null, after, edge }) {
  /** @type {PipelineNode} */
  const node = { id, operator, parameters: {}, place }
  const grown = { nodes: [...document.nodes, node], edges: document.edges }
  const split = edge && document.edges.find((each) => edgeKey(each) === edge)
  const from = split ? split.source : after
  const port = freePort(grown, catalog, node)
  if (!from || !port) return grown
  const edges =
    split && catalog[operator]?.role !== 'sink'
      ? grown.edges.map((each) => (each === split ? { ...each, source: id } : each))
      : grown.edges
  return { ...grown, edges: [...edges, { source: from, target: id, port }] }
}

/**
 * A node with one input leaves no gap: its consumers take what it took.
 *
 * @param {Pipeline} document
 * @param {string} id
 * @returns {Pipeline}
 */
function withoutNode(document, id) {
  const inputs = document.edges.filter((edge) => edge.target === id)
  /** @type {PipelineEdge[]} */
  const edges = []
  for (const edge of document.edges) {
    if (edge.target === id || (edge.source === id && inputs.length !== 1)) continue
    const bridged = edge.source === id ? { ...edge, source: inputs[0].source } : edge
    if (!edges.some((each) => edgeKey(each) === edgeKey(bridged))) edges.push(bridged)
  }
  return { nodes: document.nodes.filter((node) => node.id !== id), edges }
}

/**
 * The document after a gesture, or the same one where only Python knows what follows.
 *
 * @param {Pipeline} document
 * @param {Catalog} catalog
 * @param {Gesture} message
 * @returns {Pipeline}
 */
export function applied(document, catalog, message) {
  switch (message.kind) {
    case 'add':
      return withNode(document, catalog, message)
    case 'connect': {
      const edge = { source: message.source, out: message.out, target: message.target, port: message.port }
      const node = document.nodes.find((each) => each.id === edge.target)
      const taken = document.edges.some((each) => each.target === edge.target && each.port === edge.port)
      return taken && !catalog[node?.operator ?? '']?.many
        ? document
        : { ...document, edges: [...document.edges, edge] }
    }
    case 'delete': {
      const edges = document.edges.filter((edge) => !message.edges.includes(edgeKey(edge)))
      return message.nodes.reduce(withoutNode, { ...document, edges })
    }
    case 'move':
      return {
        ...document,
        nodes: document.nodes.map((node) =>
          node.id in message.places ? { ...node, place: message.places[node.id] } : node,
        ),
      }
    case 'paste':
      return { nodes: [...document.nodes, ...message.nodes], edges: [...document.edges, ...message.edges] }
    default:
      return document
  }
}

/**
 * What a selection is when it is carried elsewhere: its nodes, and the edges between them.
 *
 * @param {Pipeline} document
 * @param {string[]} ids
 * @returns {Pipeline}
 */
export function copied(document, ids) {
  const chosen = new Set(ids)
  return {
    nodes: document.nodes.filter((node) => chosen.has(node.id)),
    edges: document.edges.filter((edge) => chosen.has(edge.source) && chosen.has(edge.target)),
  }
}

/**
 * The same nodes under free names and a little aside.
 *
 * @param {Pipeline} document
 * @param {Pipeline} piece
 * @param {Places} positions
 * @param {number} aside
 * @returns {Pipeline}
 */
export function renamed(document, piece, positions, aside) {
  /** @type {Record<string, string>} */
  const names = {}
  for (const node of piece.nodes) names[node.id] = freeId(document, node.id, Object.values(names))
  return {
    nodes: piece.nodes.map((node) => {
      const at = positions[node.id] ?? node.place ?? [0, 0]
      return { ...node, id: names[node.id], place: [Math.round(at[0] + aside), Math.round(at[1] + aside)] }
    }),
    edges: piece.edges.map((edge) => ({ ...edge, source: names[edge.source], target: names[edge.target] })),
  }
}
