import assert from 'node:assert/strict'
import { test } from 'node:test'
import { pictured } from '../src/picture/picture.js'
import { routed } from '../src/graph/route.js'

/** @import { Kind, Pipeline, PipelineNode } from '../src/types' */

const COLORS = { '--kind-I': 'green', '--kind-U': 'brown', '--kind-V': 'blue', '--kind-D': 'pink', '--problem': 'red' }
/** @type {Kind[]} */
const ALL = ['+I', '-U', '+U', '-D']

/**
 * @param {Pipeline} document
 * @param {Partial<Parameters<typeof pictured>[0]>} [more]
 */
const drawing = (document, more = {}) => ({
  name: 'a picture',
  colors: COLORS,
  catalog: [],
  document,
  nodes: {},
  edges: {},
  ...more,
})

/**
 * @param {string} id
 * @param {Partial<PipelineNode>} [more]
 * @returns {PipelineNode}
 */
const node = (id, more = {}) => ({ id, operator: id, parameters: {}, place: null, ...more })

/**
 * @param {string} source
 * @param {string} target
 */
const edge = (source, target) => ({ source, out: 'out', target, port: 'in' })

/**
 * The rectangles of a picture that a pattern finds.
 *
 * @param {string} svg
 * @param {RegExp} pattern
 */
const rectangles = (svg, pattern) =>
  [...svg.matchAll(pattern)].map((found) => {
    const [, x, y, width, height] = found.map(Number)
    return { left: x, top: y, right: x + width, bottom: y + height }
  })

const BODY = /class="body" x="([-\d.]+)" y="([-\d.]+)" width="([\d.]+)" height="([\d.]+)"/g
const BADGE = /<rect x="([-\d.]+)" y="([-\d.]+)" width="([\d.]+)" height="(18)"/g

/** @param {ReturnType<typeof rectangles>} boxes */
const overlapping = (boxes) =>
  boxes.flatMap((one, at) =>
    boxes
      .slice(at + 1)
      .filter((other) => one.left < other.right && one.right > other.left)
      .filter((other) => one.top < other.bottom && one.bottom > other.top),
  )

test('a line goes around the node that stands between its ends', () => {
  const between = { left: 100, top: -30, right: 200, bottom: 30 }
  const { points } = routed([0, 0], [300, 0], [between])
  assert.deepEqual(points[0], [0, 0])
  assert.deepEqual(points.at(-1), [300, 0])
  const inside = points.filter(([x, y]) => x > 100 && x < 200 && Math.abs(y) < 30)
  assert.deepEqual(inside, [])
})

test('a line with nothing in its way is one curve', () => {
  const aside = { left: 100, top: 200, right: 200, bottom: 260 }
  assert.equal(routed([0, 0], [300, 40], [aside]).d.match(/C/g)?.length, 1)
})

test('badges lie over no node and over no other badge, also if the nodes are near each other', () => {
  const places = [40, 280, 520].flatMap((x) => [40, 160, 280].map((y) => /** @type {[number, number]} */ ([x, y])))
  const nodes = places.map((place, at) => node(`n${at}`, { place }))
  const edges = [0, 1, 2, 3, 4, 5].map((at) => edge(`n${at}`, `n${at + 3}`))
  const facts = Object.fromEntries(edges.map(({ source, target }) => [`${source}>${target}:in`, { mode: ALL }]))
  const svg = pictured(drawing({ nodes, edges }, { edges: facts }))
  const badges = rectangles(svg, BADGE)
  assert.equal(badges.length, 24)
  assert.deepEqual(overlapping([...badges, ...rectangles(svg, BODY)]), [])
})

test('a folded group is one node, an open one a frame with its name', () => {
  const group = { name: 'prices', inside: '', isFolded: true, place: null }
  const nodes = [node('a'), node('b', { group: 'prices' }), node('c', { group: 'prices' }), node('d')]
  const edges = [edge('a', 'b'), edge('b', 'c'), edge('c', 'd')]
  const folded = pictured(drawing({ nodes, edges, groups: [group] }))
  assert.deepEqual(
    [...folded.matchAll(/data-node="([^"]*)"/g)].map((found) => found[1]),
    ['a', 'group:prices', 'd'],
  )
  assert.match(folded, /2 nodes</)
  const open = pictured(drawing({ nodes, edges, groups: [{ ...group, isFolded: false }] }))
  assert.equal(open.match(/class="node"/g)?.length, 4)
  assert.match(open, /class="frame".*>prices</s)
})

test('a name is whole in as many lines as it needs, or ends where its node does', () => {
  const cases = {
    paid_rides_with_their_method: ['paid_rides_with_', 'their_method'],
    spent_per_customer_in_berlin: ['spent_per_customer_', 'in_berlin'],
    average_of_all_readings_per_sensor_and_minute: ['average_of_all_', 'readings_per_', 'sensor_and_minute'],
    ['x'.repeat(90)]: ['x'.repeat(22), 'x'.repeat(22), `${'x'.repeat(21)}…`],
  }
  for (const [name, lines] of Object.entries(cases)) {
    const svg = pictured(drawing({ nodes: [node(name)], edges: [] }))
    const shown = [...svg.matchAll(/<text [^>]*font-weight="600"[^>]*>([^<]*)</g)].map((found) => found[1])
    assert.deepEqual(shown, lines)
    const card = pictured(drawing({ nodes: [node(name)], edges: [] }), { small: true })
    const names = [...card.matchAll(/<text [^>]*>([^<]*)</g)].map((found) => found[1])
    assert.equal(names.join(''), name.length < 60 ? name : `${'x'.repeat(67)}…`)
  }
})

test('a record on an edge is whole where there is room for it', () => {
  const text = 'berlin, 2024-03-01 08:00:00, 12.5'
  const lit = (/** @type {number} */ gap) => {
    const nodes = [node('a', { place: [0, 0] }), node('b', { place: [188 + gap, 0] })]
    /** @type {any} */
    const facts = { 'a>b:in': { records: [{ kind: '+I', text }] } }
    return pictured(drawing({ nodes, edges: [edge('a', 'b')] }, { edges: facts }))
  }
  assert.match(lit(400), new RegExp(`>${text}<`))
  assert.match(lit(230), />berlin, 2024-03-01 …</)
})

test('names and problems are text', () => {
  const evil = '<img src=x onerror="alert(1)">'
  const facts = { [evil]: { problems: [{ sentence: evil }] } }
  const svg = pictured(drawing({ nodes: [node(evil)], edges: [] }, { name: evil, nodes: facts }))
  assert.doesNotMatch(svg, /<img/)
  assert.doesNotMatch(svg.replaceAll('&quot;', ''), /="[^"]*"[^ />]*alert/)
})

test('an empty document has no picture', () => {
  assert.equal(pictured(drawing({ nodes: [], edges: [] })), '')
})
