import assert from 'node:assert/strict'
import { test } from 'node:test'
import { layout, pinned } from '../src/layout.js'

/** @import { Pipeline, Spot } from '../src/types' */

/**
 * A pipeline of nodes that need no operator, with the places of some of them.
 *
 * @param {Record<string, Spot | null>} places
 * @param {[source: string, target: string, port?: string][]} edges
 * @returns {Pipeline}
 */
const pipeline = (places, edges) => ({
  nodes: Object.entries(places).map(([id, place]) => ({ id, operator: id, parameters: {}, place })),
  edges: edges.map(([source, target, port = 'in']) => ({ source, out: 'out', target, port })),
})

test('a chain stands in a row from left to right', () => {
  const found = layout(pipeline({ sink: null, words: null }, [['words', 'sink']]), {})
  assert.ok(found.words[0] < found.sink[0])
  assert.equal(found.words[1], found.sink[1])
})

test('a node that was placed by hand stays there, and the others keep off it', () => {
  const found = layout(pipeline({ placed: [40, 40], free: null }, []), {})
  assert.deepEqual(found.placed, [40, 40])
  assert.ok(found.free[1] >= 40 + 86)
})

test('a node between two placed ones stands between them', () => {
  /** @type {[string, string][]} */
  const edges = [
    ['a', 'b'],
    ['b', 'c'],
  ]
  assert.deepEqual(layout(pipeline({ a: [0, 100], b: null, c: [800, 300] }, edges), {}).b, [400, 200])
})

test('two edges between the same nodes and an edge to nowhere are laid out', () => {
  /** @type {[string, string, string?][]} */
  const edges = [
    ['a', 'b', 'left'],
    ['a', 'b', 'right'],
    ['a', 'gone'],
  ]
  assert.deepEqual(Object.keys(layout(pipeline({ a: null, b: null }, edges), {})), ['a', 'b'])
})

test('what was not dragged stays where it is seen', () => {
  /** @type {[string, string][]} */
  const edges = [
    ['a', 'b'],
    ['b', 'c'],
  ]
  const document = pipeline({ a: null, b: null, c: null }, edges)
  const before = layout(document, {})
  const places = pinned(document, before, { a: [900, 900], c: [5, 5] }, {})
  assert.deepEqual(places, { a: [900, 900], c: [5, 5], b: before.b })
})

test('a drag back to where it began moves nothing', () => {
  const document = pipeline({ a: null }, [])
  const before = layout(document, {})
  assert.deepEqual(pinned(document, before, { a: before.a, gone: [1, 1] }, {}), {})
})

test('inputs stand in the order of the ports that they feed', () => {
  const document = pipeline({ one: null, two: null, join: null }, [
    ['one', 'join', 'right'],
    ['two', 'join', 'left'],
  ])
  const found = layout(document, {})
  assert.ok(found.two[1] < found.one[1])
})

test('outputs stand in the order of the ports that they leave', () => {
  const document = pipeline({ windows: null, ledger: null, sink: null }, [])
  document.edges = [
    { source: 'windows', out: 'late', target: 'ledger', port: 'in' },
    { source: 'windows', out: 'out', target: 'sink', port: 'in' },
  ]
  const found = layout(document, {})
  assert.ok(found.sink[1] < found.ledger[1])
})

test('nodes keep their distance where an edge passes several layers', () => {
  const document = pipeline({ a: null, b: null, long: null, c: null, d: null, sink: null }, [
    ['a', 'c'],
    ['c', 'd'],
    ['long', 'c', 'right'],
    ['b', 'long'],
    ['b', 'sink', 'left'],
    ['d', 'sink', 'right'],
  ])
  const found = layout(document, {})
  const all = Object.values(found)
  for (const [at, one] of all.entries()) {
    for (const other of all.slice(at + 1)) {
      assert.ok(one[0] !== other[0] || Math.abs(one[1] - other[1]) >= 76)
    }
  }
})

test('the nodes of a group stand beside each other, apart from all others', () => {
  const document = pipeline({ a: null, b: null, c: null, d: null, other: null, sink: null }, [
    ['a', 'b'],
    ['b', 'c'],
    ['a', 'other'],
    ['c', 'sink', 'left'],
    ['other', 'sink', 'right'],
    ['d', 'c', 'right'],
  ])
  const inside = new Set(['b', 'c'])
  document.groups = [{ name: 'g', inside: '', isFolded: false, place: null }]
  document.nodes = document.nodes.map((node) => (inside.has(node.id) ? { ...node, group: 'g' } : node))
  const found = layout(document, {})
  const [left, right] = [found.b[0], found.c[0] + 188]
  const [top, bottom] = [Math.min(found.b[1], found.c[1]), Math.max(found.b[1], found.c[1]) + 76]
  for (const [id, [x, y]] of Object.entries(found)) {
    assert.ok(inside.has(id) || x + 188 < left || x > right || y + 76 < top || y > bottom, id)
  }
})

test('groups stand in the order of the ports that they feed', () => {
  const document = pipeline({ one: null, one_2: null, two: null, two_2: null, join: null }, [
    ['one', 'one_2'],
    ['two', 'two_2'],
    ['one_2', 'join', 'right'],
    ['two_2', 'join', 'left'],
  ])
  document.groups = ['one', 'two'].map((name) => ({ name, inside: '', isFolded: false, place: null }))
  document.nodes = document.nodes.map((node) => ({ ...node, group: node.id === 'join' ? '' : node.id.slice(0, 3) }))
  const found = layout(document, {})
  assert.ok(found.two_2[1] < found.one_2[1])
})

test('the rows of sources stay in the order of the document when something is added below', () => {
  /** @type {Record<string, null>} */
  const nodes = { orders: null, customers: null, filter: null, latest: null, join: null }
  /** @type {[string, string, string?][]} */
  const edges = [
    ['orders', 'filter'],
    ['customers', 'latest'],
    ['filter', 'join', 'left'],
    ['latest', 'join', 'right'],
  ]
  for (let last = 0; last <= edges.length; last++) {
    const found = layout(pipeline(nodes, edges.slice(0, last)), {})
    assert.ok(found.orders[1] < found.customers[1], `after ${last} edges`)
  }
  const other = layout(pipeline(nodes, [...edges].reverse()), {})
  assert.ok(other.orders[1] < other.customers[1])
})
