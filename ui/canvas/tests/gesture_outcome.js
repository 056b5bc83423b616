// What the canvas makes of a case of `tests/ui/gestures.json`: for node's test runner, and for a browser where is none.
import { applied, edgeKey, refusal } from '../src/document.js'

/** @import { Catalog, Gesture, Pipeline } from '../src/types' */

/**
 * A document in few words: operators by id, with a place where there is one, edges as their keys, and groups by name,
 * with what is in them: nodes, and groups as `group:NAME`. `folded` names the folded ones.
 *
 * @typedef {object} Sketch
 * @property {Record<string, string | [operator: string, x: number, y: number]>} nodes
 * @property {string[]} edges
 * @property {Record<string, string[]>} [groups]
 * @property {string[]} [folded]
 */

/** @typedef {Sketch & { title: string, gesture: Gesture, result?: Sketch, refused?: string }} Case */

/**
 * @param {Case} case_
 * @param {Catalog} catalog
 * @returns {{ result?: Sketch, refused?: string }}
 */
export function outcome({ gesture, ...sketch }, catalog) {
  const document = drawn(sketch)
  const after = applied(document, catalog, gesture)
  if (gesture.kind !== 'connect') return { result: sketched(after) }
  const refused = refusal(document, catalog, gesture.source, gesture.target, gesture.port)
  if (refused && after !== document) throw new Error('a refused edge is shown all the same')
  return refused ? { refused } : { result: sketched(after) }
}

/**
 * @param {Sketch} sketch
 * @returns {Pipeline}
 */
function drawn({ nodes, edges, groups = {}, folded = [] }) {
  const inside = (/** @type {string} */ id) =>
    Object.entries(groups).find(([, content]) => content.includes(id))?.[0] ?? ''
  return {
    nodes: Object.entries(nodes).map(([id, node]) => {
      const [operator, ...place] = typeof node === 'string' ? [node] : node
      return { id, operator, parameters: {}, group: inside(id), place: place.length === 2 ? place : null }
    }),
    edges: edges.map((key) => {
      const [, source, out = 'out', target, port] = /^(\w+)(?:\.(\w+))?>(\w+):(\w+)$/.exec(key) ?? []
      return { source, out, target, port }
    }),
    groups: Object.keys(groups).map((name) => ({
      name,
      inside: inside(`group:${name}`),
      isFolded: folded.includes(name),
      place: null,
    })),
  }
}

/**
 * @param {Pipeline} document
 * @returns {Sketch}
 */
function sketched({ nodes, edges, groups = [] }) {
  /** @type {Sketch} */
  const sketch = {
    nodes: Object.fromEntries(nodes.map(({ id, operator, place }) => [id, place ? [operator, ...place] : operator])),
    edges: edges.map(edgeKey),
  }
  const contents = groups.map(({ name }) => [
    name,
    [
      ...nodes.filter((node) => node.group === name).map((node) => node.id),
      ...groups.filter((group) => group.inside === name).map((group) => `group:${group.name}`),
    ],
  ])
  if (groups.length) sketch.groups = Object.fromEntries(contents)
  const folded = groups.filter((group) => group.isFolded).map((group) => group.name)
  if (folded.length) sketch.folded = folded
  return sketch
}
