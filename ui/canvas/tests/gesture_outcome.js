// What the canvas makes of a case of `tests/ui/gestures.json`: for node's test runner, and for a browser where is none.
import { applied, edgeKey, refusal } from '../src/document.js'

/** @import { Catalog, Gesture, Pipeline } from '../src/types' */

/**
 * A document in few words: operators by id, with a place where there is one, and edges as their keys.
 *
 * @typedef {{ nodes: Record<string, string | [operator: string, x: number, y: number]>, edges: string[] }} Sketch
 */

/** @typedef {Sketch & { title: string, gesture: Gesture, result?: Sketch, refused?: string }} Case */

/**
 * @param {Case} case_
 * @param {Catalog} catalog
 * @returns {{ result?: Sketch, refused?: string }}
 */
export function outcome({ nodes, edges, gesture }, catalog) {
  const document = drawn({ nodes, edges })
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
const drawn = ({ nodes, edges }) => ({
  nodes: Object.entries(nodes).map(([id, node]) => {
    const [operator, ...place] = typeof node === 'string' ? [node] : node
    return { id, operator, parameters: {}, place: place.length === 2 ? place : null }
  }),
  edges: edges.map((key) => {
    const [, source, out = 'out', target, port] = /^(\w+)(?:\.(\w+))?>(\w+):(\w+)$/.exec(key) ?? []
    return { source, out, target, port }
  }),
})

/**
 * @param {Pipeline} document
 * @returns {Sketch}
 */
const sketched = ({ nodes, edges }) => ({
  nodes: Object.fromEntries(nodes.map(({ id, operator, place }) => [id, place ? [operator, ...place] : operator])),
  edges: edges.map(edgeKey),
})
