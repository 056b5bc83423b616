import assert from 'node:assert/strict'
import { test } from 'node:test'
import { asDrawn, freeGroup, realEnds } from '../src/grouping.js'

/** @import { Pipeline } from '../src/types' */

/**
 * A chain a > b > c > d, with b and c in the group `inner`, which is in `outer` with d.
 *
 * @param {string[]} folded
 * @returns {Pipeline}
 */
const chain = (...folded) => ({
  nodes: Object.entries({ a: '', b: 'inner', c: 'inner', d: 'outer' }).map(([id, group]) => ({
    id,
    operator: id,
    parameters: {},
    place: null,
    group,
  })),
  edges: [
    { source: 'a', out: 'out', target: 'b', port: 'left' },
    { source: 'b', out: 'out', target: 'c', port: 'in' },
    { source: 'c', out: 'late', target: 'd', port: 'in' },
  ],
  groups: [
    { name: 'inner', inside: 'outer', isFolded: folded.includes('inner'), place: [7, 8] },
    { name: 'outer', inside: '', isFolded: folded.includes('outer'), place: null },
  ],
})

test('open groups change nothing of what is drawn', () => {
  const document = chain()
  const { drawn } = asDrawn(document)
  assert.deepEqual(drawn.nodes, document.nodes)
  assert.deepEqual(drawn.groups, document.groups)
})

test('a folded group is one node at its place, with the ports of the edges that leave and enter it', () => {
  const { drawn, drawnAs } = asDrawn(chain('inner'))
  assert.deepEqual(
    drawn.nodes.map((node) => [node.id, node.group, node.place]),
    [
      ['a', '', null],
      ['group:inner', 'outer', [7, 8]],
      ['d', 'outer', null],
    ],
  )
  assert.deepEqual(
    drawn.edges.map(({ source, out, target, port }) => [source, out, target, port]),
    [
      ['a', 'out', 'group:inner', 'b.left'],
      ['group:inner', 'c.late', 'd', 'in'],
    ],
  )
  assert.deepEqual(
    drawn.groups.map((group) => group.name),
    ['outer'],
  )
  assert.equal(drawnAs.get('c'), 'group:inner')
})

test('of folded groups inside of each other, the outermost is drawn', () => {
  const { drawn } = asDrawn(chain('inner', 'outer'))
  assert.deepEqual(
    drawn.nodes.map((node) => node.id),
    ['a', 'group:outer'],
  )
  assert.deepEqual(drawn.groups, [])
})

test('a connection to a port of a folded group is one to its node', () => {
  const drawn = { source: 'group:g.x', sourceHandle: 'c.late', target: 'd', targetHandle: 'in' }
  assert.deepEqual(realEnds(drawn), { source: 'c', sourceHandle: 'late', target: 'd', targetHandle: 'in' })
})

test('the name of a new group is free in any case', () => {
  assert.equal(freeGroup(chain(), 'Inner'), 'Inner_2')
})
