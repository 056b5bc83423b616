import assert from 'node:assert/strict'
import { test } from 'node:test'
import { held, shrunk } from '../src/compose/staying.js'

const ROOM = { left: 0, top: 0, right: 1000, bottom: 600 }

test('a node that the layout moved is seen where it was', () => {
  assert.deepEqual(held({ x: 10, y: 20, zoom: 0.5 }, [100, 100], [300, 60]), { x: -90, y: 40, zoom: 0.5 })
})

test('all nodes come into view around the one that stays', () => {
  const view = shrunk({ x: 0, y: 0, zoom: 1 }, { here: [100, 200], far: [1000, 200] }, 'here', ROOM)
  assert.ok(view)
  assert.ok(view.zoom < 1)
  // Its middle is at 194, 238.
  assert.ok(Math.abs(194 * view.zoom + view.x - 194) < 0.01)
  assert.ok(Math.abs(238 * view.zoom + view.y - 238) < 0.01)
  assert.ok((1000 + 188) * view.zoom + view.x <= 1000)
})

test('a node at the edge does not make the others tiny', () => {
  assert.equal(shrunk({ x: 0, y: 0, zoom: 1 }, { here: [810, 200], far: [1200, 200] }, 'here', ROOM), null)
})

test('nothing is enlarged', () => {
  assert.equal(shrunk({ x: 0, y: 0, zoom: 0.4 }, { here: [900, 600] }, 'here', ROOM)?.zoom, 0.4)
})
