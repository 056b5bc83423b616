// A drawn pipeline as an SVG text: for cards, exported pages, replays, slides. It has the places, groups, modes and
// counts of the canvas, and nothing to click.
import { byOperator, edgeKey } from '../document.js'
import { frames, groupData } from '../graph/groups.js'
import { asDrawn } from '../grouping.js'
import { HEIGHT, WIDTH, layout } from '../layout.js'
import { boxesAt, inTheWay, routed } from '../graph/route.js'
import { badges, escaped, records, short } from './labels.js'

/** @import { Catalog, DrawnPipelineEdge, Drawing, DrawnNode, EdgeFacts, FrameNode, LitFacts, Kind, NodeFacts, Places } from '../types' */
/** @import { Box, Point } from '../graph/route.js' */

/** @typedef {Omit<import('../types').Pens, 'paper'>} Pens */
/** @typedef {EdgeFacts & LitFacts} Carried `records`: of one event, in place of the mode */

/** @type {Pens} */
export const OF_THE_PAGE = {
  text: 'currentColor',
  muted: 'color-mix(in srgb, currentColor 70%, transparent)',
  line: 'color-mix(in srgb, currentColor 35%, transparent)',
  card: 'color-mix(in srgb, currentColor 6%, transparent)',
}

const MARGIN = 24
const SMALL_MARGIN = 4
const SMALL_GAP = 60
// How a name is written, the first in which it is whole: in px, letters of a line, lines. As many letters as a node is
// wide in the widest of the fonts that people have.
/** @typedef {{ size: number, letters: number, most: number }} Writing */
/** @type {Writing[]} */
const NAMES = [
  { size: 15, letters: 14, most: 2 },
  { size: 13.5, letters: 17, most: 2 },
  { size: 12, letters: 19, most: 3 },
  { size: 10.5, letters: 22, most: 3 },
]
// On a card, which is drawn at a fraction of its size.
/** @type {Writing[]} */
const NAMES_OF_A_CARD = [
  { size: 25, letters: 11, most: 2 },
  { size: 20, letters: 14, most: 3 },
  { size: 16, letters: 17, most: 4 },
]
const LINE = 1.2

/**
 * @param {Pick<Drawing, 'name' | 'colors' | 'catalog' | 'document' | 'nodes'> & { edges: Partial<Record<string, Carried>> }} drawing
 * @param {{ pens?: Pens, small?: boolean, gap?: number, places?: Places, paper?: string }} [options] small: for a card, names only.
 *   places: where the nodes stand; without them, they are laid out. paper: the colour behind it
 * @returns {string} empty without nodes
 */
export function pictured({ name, colors, catalog, document, nodes, edges }, options = {}) {
  const { pens = OF_THE_PAGE, small = false, gap, paper } = options
  if (!document.nodes.length) return ''
  const known = byOperator(catalog)
  const { drawn } = asDrawn(document)
  // A card has no room for the places that somebody chose on a canvas.
  const free = { ...drawn, nodes: drawn.nodes.map((node) => ({ ...node, place: null })) }
  const places = options.places ?? layout(small ? free : drawn, known, small ? SMALL_GAP : gap)
  const standing = drawn.nodes.map((node) => ({
    id: node.id,
    position: { x: places[node.id][0], y: places[node.id][1] },
  }))
  const around = frames(drawn, /** @type {DrawnNode[]} */ (standing))
  const boxes = boxesAt(places)
  // Labels lie over no node and no label before.
  const taken = [...boxes.values()]
  const pen = { pens, paper: paper ?? 'none', colors, small }
  const lines = drawn.edges.map((edge) => {
    const route = routed(
      outOf(edge, drawn.edges, nodes, places),
      into(edge, drawn.edges, known, document, places),
      inTheWay(boxes, edge),
    )
    return drawnEdge(edge, route, small ? undefined : carriedBy(edge, nodes, edges), taken, pen)
  })
  const cards = drawn.nodes.map((node) => {
    const group = groupData(document, node, drawn, nodes, edges)
    const facts = nodes[node.id] ?? {}
    const entry = known[node.operator]
    return card(
      places[node.id],
      {
        id: node.id,
        name: group?.name ?? node.id,
        title: group ? `${group.nodes.length} nodes` : (entry?.title ?? `${node.operator}?`),
        hint: group ? group.nodes.join(' · ') : (facts.hint ?? ''),
        role: entry?.role ?? 'operator',
        wrong: (facts.problems ?? []).map((each) => each.sentence),
        isFolded: Boolean(group),
        isLit: group ? group.isLit || facts.isLit === undefined : facts.isLit !== false,
      },
      pen,
    )
  })
  const all = [...taken, ...around.map(boxOf)]
  const margin = small ? SMALL_MARGIN : MARGIN
  const left = Math.min(...all.map((box) => box.left)) - margin
  const top = Math.min(...all.map((box) => box.top)) - margin
  const width = Math.max(...all.map((box) => box.right)) + margin - left
  const height = Math.max(...all.map((box) => box.bottom)) + margin - top
  const behind = paper ? `<rect x="${left}" y="${top}" width="${width}" height="${height}" fill="${paper}"/>` : ''
  return (
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="${left} ${top} ${width} ${height}" width="${width}" height="${height}" ` +
    `role="img" font-family="system-ui, sans-serif" aria-label="${escaped(name)}: ${document.nodes.length} nodes">` +
    `${behind}${around.map((each) => frame(each, pen)).join('')}${lines.map((each) => each.line).join('')}${cards.join('')}` +
    `${lines.map((each) => each.label).join('')}</svg>`
  )
}

/**
 * What is known of an edge; at least the mode of the node's first output.
 *
 * @param {DrawnPipelineEdge} edge
 * @param {Partial<Record<string, NodeFacts>>} nodes
 * @param {Partial<Record<string, Carried>>} edges
 * @returns {Carried}
 */
const carriedBy = ({ of }, nodes, edges) => ({
  mode: of.out === 'out' ? nodes[of.source]?.mode : undefined,
  ...edges[edgeKey(of)],
})

/** @param {boolean | undefined} isUnlit */
const dimmed = (isUnlit) => (isUnlit ? 'opacity="0.45" ' : '')

/** @typedef {{ pens: Pens, paper: string, colors: Record<string, string>, small: boolean }} Pen */

/**
 * @param {DrawnPipelineEdge} edge
 * @param {DrawnPipelineEdge[]} all
 * @param {Partial<Record<string, NodeFacts>>} nodes
 * @param {Places} places
 * @returns {Point}
 */
function outOf(edge, all, nodes, places) {
  const [x, y] = places[edge.source]
  const ports =
    nodes[edge.source]?.outputs ?? portsOf(all.filter((each) => each.source === edge.source).map((each) => each.out))
  return [x + WIDTH, y + HEIGHT * share(ports, edge.out)]
}

/**
 * @param {DrawnPipelineEdge} edge
 * @param {DrawnPipelineEdge[]} all
 * @param {Catalog} catalog
 * @param {Drawing['document']} document
 * @param {Places} places
 * @returns {Point}
 */
function into(edge, all, catalog, document, places) {
  const [x, y] = places[edge.target]
  const operator = document.nodes.find((node) => node.id === edge.target)?.operator ?? ''
  const ports =
    catalog[operator]?.ports ?? portsOf(all.filter((each) => each.target === edge.target).map((each) => each.port))
  return [x - 7, y + HEIGHT * share(ports, edge.port)]
}

/** @param {string[]} names */
const portsOf = (names) => [...new Set(names)].sort()

/**
 * @param {string[]} ports
 * @param {string} port
 */
const share = (ports, port) => (Math.max(0, ports.indexOf(port)) + 1) / (ports.length + 1)

/**
 * @param {DrawnPipelineEdge} edge
 * @param {import('../graph/route.js').Route} route
 * @param {Carried | undefined} facts
 * @param {Box[]} taken to which the label is added
 * @param {Pen} pen
 */
function drawnEdge(edge, route, facts, taken, pen) {
  const { pens } = pen
  const [x, y] = route.points[route.points.length - 1]
  const line = `<path d="${route.d}" fill="none" stroke="${pens.line}" stroke-width="${pen.small ? 3 : 1.8}"/>`
  const tip = `<path d="M${x},${y - 5} l7,5 l-7,5 z" fill="${pens.muted}"/>`
  const label = facts?.records
    ? records(facts.records, facts.more ?? 0, route.points, taken, pen)
    : facts?.mode?.length
      ? badges(facts.mode, facts.counts, route.points, taken, pen)
      : ''
  const words = `from ${edge.of.source} to ${edge.of.target}${facts?.mode ? `, ${facts.mode.join(' ')}` : ''}`
  const group = (/** @type {string} */ name, /** @type {string} */ content) =>
    `<g class="${name}" ${dimmed(facts?.records && !facts.records.length)}data-edge="${escaped(edgeKey(edge.of))}">` +
    `<title>${escaped(words)}</title>${content}</g>`
  return { line: group('edge', line + tip), label: label && group('label', label) }
}

/**
 * @typedef {object} Card
 * @property {string} id
 * @property {string} name
 * @property {string} title
 * @property {string} hint
 * @property {string} role
 * @property {string[]} wrong
 * @property {boolean} isFolded
 * @property {boolean} isLit
 */

/**
 * @param {import('../types').Spot} place
 * @param {Card} node
 * @param {Pen} pen
 */
function card([x, y], { id, name, title, hint, role, wrong, isFolded, isLit }, { pens, colors, small }) {
  const stroke = wrong.length ? colors['--problem'] : pens.line
  const { size, lines } = written(name, small ? NAMES_OF_A_CARD : NAMES)
  const high = lines.length * size * LINE
  const write = (/** @type {string} */ text, /** @type {number} */ at, /** @type {string} */ look) =>
    `<text x="${x + 17}" y="${y + at}" ${look}>${escaped(text)}</text>`
  const strong = `font-weight="600" fill="${pens.text}"`
  const words = small
    ? lines.map((line, at) =>
        write(line, (HEIGHT - high) / 2 + size * (0.94 + at * LINE), `font-size="${size}" fill="${pens.text}"`),
      )
    : [
        ...lines.map((line, at) =>
          write(line, (lines.length > 2 ? 4 : 10) + size * (1 + at * LINE), `font-size="${size}" ${strong}`),
        ),
        write(short(title, 23), lines.length > 1 ? 63 : 45, `font-size="12.5" fill="${pens.muted}"`),
        ...(lines.length > 1 ? [] : [write(short(hint, 24), 63, `font-size="12" fill="${pens.muted}"`)]),
      ]
  const behind = isFolded
    ? `<rect x="${x + 5}" y="${y + 5}" width="${WIDTH}" height="${HEIGHT}" rx="8" fill="none" stroke="${pens.line}" stroke-width="1.4"/>`
    : ''
  const mark = wrong.length
    ? `<circle cx="${x + WIDTH - 3}" cy="${y + 3}" r="10" fill="${colors['--problem']}"/><text x="${x + WIDTH - 3}" y="${y + 8}" ` +
      `text-anchor="middle" font-size="14" font-weight="700" fill="${colors['--on-color']}">!</text>`
    : ''
  return (
    `<g class="node" ${dimmed(!isLit)}data-node="${escaped(id)}"><title>${escaped(wrong.length ? wrong.join('\n') : `${name}: ${title}`)}</title>` +
    `${behind}<rect class="body" x="${x}" y="${y}" width="${WIDTH}" height="${HEIGHT}" rx="8" fill="${pens.card}" ` +
    `stroke="${stroke}" stroke-width="${wrong.length ? 2.6 : 1.4}"/>` +
    `<path d="M${x + 8},${y} a8,8 0 0 0 -8,8 v${HEIGHT - 16} a8,8 0 0 0 8,8 z" fill="${colors[`--role-${role}`]}"/>` +
    `${words.join('')}${mark}</g>`
  )
}

/**
 * @param {FrameNode} of
 * @param {Pen} pen
 */
function frame(of, { pens, small }) {
  const { left, top, right, bottom } = boxOf(of)
  const words = small
    ? ''
    : `<text x="${left + 10}" y="${top + 17}" font-size="12.5" fill="${pens.muted}">${escaped(short(of.data.name, 40))}</text>`
  return (
    `<g class="frame"><rect x="${left}" y="${top}" width="${right - left}" height="${bottom - top}" rx="10" fill="${pens.card}" ` +
    `stroke="${pens.line}" stroke-dasharray="5 4"/>${words}</g>`
  )
}

/** @param {FrameNode} frame */
const boxOf = ({ position: { x, y }, width = 0, height = 0 }) => ({
  left: x,
  top: y,
  right: x + width,
  bottom: y + height,
})

/**
 * The lines of a name, and their size. A name that is too long for all of them ends where its node does.
 *
 * @param {string} name
 * @param {Writing[]} writings
 */
function written(name, writings) {
  for (const { size, letters, most } of writings) {
    const lines = broken(name, letters)
    if (lines.length <= most) return { size, lines }
  }
  const { size, letters, most } = writings[writings.length - 1]
  const lines = broken(name, letters)
  return { size, lines: [...lines.slice(0, most - 1), short(lines.slice(most - 1).join(''), letters)] }
}

/**
 * A text in lines, each broken behind an underline if there is one.
 *
 * @param {string} text
 * @param {number} most letters in a line
 * @returns {string[]}
 */
function broken(text, most) {
  if (text.length <= most) return [text]
  const at = text.lastIndexOf('_', most - 1) + 1 || most
  return [text.slice(0, at), ...broken(text.slice(at), most)]
}
