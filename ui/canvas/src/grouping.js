// Groups of nodes. The edits are the same as in `ui/builder/grouping.py`; below them, the document as it is drawn: a
// folded group is one node, whose ports are those of its nodes that have edges to others.

/** @import { DrawnPipeline, Group, Pipeline, PipelineEdge, PipelineNode } from './types' */

const PREFIX = 'group:'

/**
 * The id under which a group is drawn and selected. No id of a node has a colon.
 *
 * @param {string} name
 */
export const groupId = (name) => `${PREFIX}${name}`

/**
 * The name of a group by its id; undefined for a node.
 *
 * @param {string} id
 */
export const groupNamed = (id) => (id.startsWith(PREFIX) ? id.slice(PREFIX.length) : undefined)

/**
 * A group's name and those of the groups around it, from the innermost.
 *
 * @param {Pipeline} document
 * @param {string} [name]
 */
export function around(document, name) {
  /** @type {string[]} */
  const path = []
  for (let at = name; at && !path.includes(at); at = groupOf(document, at)?.inside) path.push(at)
  return path
}

/**
 * @param {Pipeline} document
 * @param {string} name
 */
const groupOf = (document, name) => document.groups?.find((group) => group.name === name)

/**
 * The ids of the nodes in a group and in the groups inside of it.
 *
 * @param {Pipeline} document
 * @param {string} name
 */
export const members = (document, name) =>
  document.nodes.filter((node) => around(document, node.group).includes(name)).map((node) => node.id)

/**
 * @param {Pipeline} document
 * @param {string} wanted
 */
export function freeGroup(document, wanted) {
  const taken = new Set(document.groups?.map((group) => group.name.toLowerCase()))
  let found = wanted
  for (let number = 2; taken.has(found.toLowerCase()); number++) found = `${wanted}_${number}`
  return found
}

/**
 * Put nodes into a new group, and groups all of whose nodes are among them.
 *
 * @param {Pipeline} document
 * @param {string[]} ids
 * @param {string} wanted
 * @returns {Pipeline}
 */
export function grouped(document, ids, wanted) {
  const chosen = document.nodes.filter((node) => ids.includes(node.id))
  if (!chosen.length) return document
  const groups = document.groups ?? []
  const isWhole = (/** @type {string} */ group) => members(document, group).every((id) => ids.includes(id))
  const whole = new Set(groups.map((group) => group.name).filter(isWhole))
  const paths = chosen.map((node) => around(document, node.group).filter((group) => !whole.has(group)))
  const inside = paths[0].find((group) => paths.every((path) => path.includes(group))) ?? ''
  const name = freeGroup(document, wanted)
  const isOutermost = (/** @type {string} */ group) =>
    whole.has(group) &&
    !around(document, group)
      .slice(1)
      .some((each) => whole.has(each))
  return withoutEmptyGroups({
    ...document,
    nodes: document.nodes.map((node) =>
      chosen.includes(node) && !whole.has(node.group ?? '') ? { ...node, group: name } : node,
    ),
    groups: [
      ...groups.map((group) => (isOutermost(group.name) ? { ...group, inside: name } : group)),
      { name, inside, isFolded: false, place: null },
    ],
  })
}

/**
 * Take a group away; its nodes and groups are in the group around it then.
 *
 * @param {Pipeline} document
 * @param {string} name
 * @returns {Pipeline}
 */
export function ungrouped(document, name) {
  const outside = groupOf(document, name)?.inside ?? ''
  const groups = (document.groups ?? []).filter((group) => group.name !== name)
  return {
    ...document,
    nodes: document.nodes.map((node) => (node.group === name ? { ...node, group: outside } : node)),
    groups: groups.map((group) => (group.inside === name ? { ...group, inside: outside } : group)),
  }
}

/**
 * Fold groups (true) or open them.
 *
 * @param {Pipeline} document
 * @param {Record<string, boolean>} states
 * @returns {Pipeline}
 */
export const folded = (document, states) => ({
  ...document,
  groups: document.groups?.map((group) => ({ ...group, isFolded: states[group.name] ?? group.isFolded })),
})

/**
 * @param {Pipeline} document
 * @returns {Pipeline}
 */
export function withoutEmptyGroups(document) {
  if (!document.groups?.length) return document
  const used = new Set(document.nodes.flatMap((node) => around(document, node.group)))
  return { ...document, groups: document.groups.filter((group) => used.has(group.name)) }
}

/**
 * The document as it is drawn, and the id under which each node is drawn: its own, or that of the outermost folded group
 * around it. The groups that are left are open.
 *
 * @param {Pipeline} document
 * @returns {{ drawn: DrawnPipeline, drawnAs: Map<string, string> }}
 */
export function asDrawn(document) {
  const isFolded = (/** @type {string} */ name) => groupOf(document, name)?.isFolded
  const outermost = (/** @type {string | undefined} */ group) => around(document, group).findLast(isFolded)
  const drawnAs = new Map(
    document.nodes.map((node) => {
      const hidden = outermost(node.group)
      return [node.id, hidden === undefined ? node.id : groupId(hidden)]
    }),
  )
  const shown = (document.groups ?? []).filter((group) => [undefined, group.name].includes(outermost(group.name)))
  /** @type {Map<string, PipelineNode>} */
  const nodes = new Map()
  for (const node of document.nodes) {
    const id = drawnAs.get(node.id) ?? node.id
    const group = id === node.id ? undefined : shown.find((each) => groupId(each.name) === id)
    if (!nodes.has(id)) nodes.set(id, group ? asNode(group) : node)
  }
  return {
    drawn: {
      nodes: [...nodes.values()],
      edges: document.edges.flatMap((edge) => rewired(edge, drawnAs)),
      groups: shown.filter((group) => !group.isFolded),
    },
    drawnAs,
  }
}

/**
 * @param {Group} group
 * @returns {PipelineNode}
 */
const asNode = ({ name, inside, place }) => ({ id: groupId(name), operator: '', parameters: {}, group: inside, place })

/**
 * An edge between what is drawn; none within a folded group. `of` is the edge itself.
 *
 * @param {PipelineEdge} edge
 * @param {Map<string, string>} drawnAs
 */
function rewired(edge, drawnAs) {
  const { source, out, target, port } = edge
  const [from, to] = [drawnAs.get(source) ?? source, drawnAs.get(target) ?? target]
  if (from === to) return []
  const rewired = {
    source: from,
    out: from === source ? out : `${source}.${out}`,
    target: to,
    port: to === target ? port : `${target}.${port}`,
    of: edge,
  }
  return [rewired]
}

/**
 * The ends of a connection that was drawn from or to a folded group's ports.
 *
 * @template {{ source: string, sourceHandle?: string | null, target: string, targetHandle?: string | null }} E
 * @param {E} ends
 * @returns {E}
 */
export function realEnds(ends) {
  const [source, sourceHandle] = realEnd(ends.source, ends.sourceHandle)
  const [target, targetHandle] = realEnd(ends.target, ends.targetHandle)
  return { ...ends, source, sourceHandle, target, targetHandle }
}

/**
 * @param {string} id
 * @param {string | null} [port] of a group: NODE.PORT
 * @returns {[string, string | null | undefined]}
 */
function realEnd(id, port) {
  if (groupNamed(id) === undefined || !port) return [id, port]
  const at = port.lastIndexOf('.')
  return [port.slice(0, at), port.slice(at + 1)]
}
