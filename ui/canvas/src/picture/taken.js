// A part of the page as an SVG text, as the browser has drawn it: boxes, lines, texts, and the drawings within.

const INHERITED = [
  ...['fill', 'fill-opacity', 'stroke', 'stroke-width', 'stroke-opacity', 'stroke-dasharray', 'opacity'],
  ...['font-family', 'font-size', 'font-weight', 'text-anchor', 'dominant-baseline', 'visibility', 'display'],
]
// What a chart draws only for the mouse, and icons that are words of a font which a picture does not have.
const LEFT_OUT = '.modebar-container, .hoverlayer, .zoomlayer, th [aria-hidden], [data-testid="stIconMaterial"]'

/** @typedef {{ left: number, top: number, right: number, bottom: number }} Box */

/** @param {unknown} text */
const escaped = (text) =>
  String(text).replace(/[&<>"]/g, (sign) => ({ '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' })[sign] ?? sign)
const round = (/** @type {number} */ value) => Math.round(value * 100) / 100
const isSeen = (/** @type {string} */ color) => color !== 'transparent' && !/^rgba\(.*, 0\)$/.test(color)

/**
 * @param {Element} element
 * @returns {string}
 */
export function taken(element) {
  const { left, top, width, height } = element.getBoundingClientRect()
  const size = `width="${round(width)}" height="${round(height)}" viewBox="0 0 ${round(width)} ${round(height)}"`
  const paper = `<rect width="100%" height="100%" fill="${paperBelow(element)}"/>`
  const area = { left, top, right: left + width, bottom: top + height }
  /** @type {string[][]} */
  const layers = [[], []]
  draw(element, { area, left, top, opacity: 1, layer: 0, layers })
  return `<svg xmlns="http://www.w3.org/2000/svg" ${size}>${paper}${layers.flat().join('')}</svg>`
}

/**
 * The first colour behind an element.
 *
 * @param {Element | null} element
 * @returns {string}
 */
function paperBelow(element) {
  if (!element) return 'white'
  const color = getComputedStyle(element).backgroundColor
  if (isSeen(color)) return color
  const root = element.getRootNode()
  return paperBelow(element.parentElement ?? (root instanceof ShadowRoot ? root.host : null))
}

/**
 * @param {Element} element
 * @param {{ area: Box, left: number, top: number, opacity: number, layer: number, layers: string[][] }} within what
 *   sticks to the edge of a table is drawn over the rest, in the second layer
 */
function draw(element, within) {
  if (element.matches(LEFT_OUT)) return
  const style = getComputedStyle(element)
  const box = element.getBoundingClientRect()
  const opacity = within.opacity * Number(style.opacity)
  const layer = style.position === 'sticky' ? 1 : within.layer
  if (style.display === 'none' || style.visibility === 'hidden' || !opacity) return
  if (box.width && box.height && !meets(box, within.area)) return
  const here = { ...within, opacity, layer }
  const put = (/** @type {string} */ part) => within.layers[layer].push(part)
  if (element instanceof SVGSVGElement) return put(drawing(element, box, here))
  if (element instanceof HTMLCanvasElement) return put(image(element.toDataURL(), box, here))
  if (element instanceof HTMLImageElement) return put(image(element.src, box, here))
  background(style, box, here).forEach(put)
  for (const child of element.shadowRoot?.childNodes ?? element.childNodes) {
    if (child instanceof Element) draw(child, here)
    else if (child instanceof Text && child.data.trim()) texts(child, style, here).forEach(put)
  }
}

/**
 * @param {Box} one
 * @param {Box} other
 */
const meets = (one, other) =>
  one.left < other.right && one.right > other.left && one.top < other.bottom && one.bottom > other.top

/**
 * @param {CSSStyleDeclaration} style
 * @param {DOMRect} box
 * @param {{ left: number, top: number, opacity: number }} from
 */
function background(style, box, { left, top, opacity }) {
  const [x, y] = [round(box.left - left), round(box.top - top)]
  const [right, bottom] = [round(x + box.width), round(y + box.height)]
  const see = opacity < 1 ? ` opacity="${round(opacity)}"` : ''
  const parts = []
  if (isSeen(style.backgroundColor)) {
    const corner = Math.min(parseFloat(style.borderTopLeftRadius) || 0, box.height / 2)
    const size = `width="${round(box.width)}" height="${round(box.height)}" rx="${round(corner)}"`
    parts.push(`<rect x="${x}" y="${y}" ${size} fill="${style.backgroundColor}"${see}/>`)
  }
  const sides = /** @type {const} */ ([
    ['Top', x, y, right, y],
    ['Bottom', x, bottom, right, bottom],
    ['Left', x, y, x, bottom],
    ['Right', right, y, right, bottom],
  ])
  for (const [side, x1, y1, x2, y2] of sides) {
    const [width, color] = [parseFloat(style[`border${side}Width`]), style[`border${side}Color`]]
    if (!width || style[`border${side}Style`] === 'none' || !isSeen(color)) continue
    const line = `x1="${x1}" y1="${y1}" x2="${x2}" y2="${y2}"`
    parts.push(`<line ${line} stroke="${color}" stroke-width="${width}"${see}/>`)
  }
  return parts
}

/**
 * The lines of a text, each at its place and as wide as it is drawn, whatever fonts the picture's reader has.
 *
 * @param {Text} node
 * @param {CSSStyleDeclaration} style
 * @param {{ area: Box, left: number, top: number, opacity: number }} from
 */
function texts(node, style, { area, left, top, opacity }) {
  const range = document.createRange()
  /** @type {{ text: string, box: { left: number, right: number, top: number, height: number } }[]} */
  const lines = []
  for (const word of node.data.matchAll(/\S+\s*/g)) {
    range.setStart(node, word.index)
    range.setEnd(node, word.index + word[0].trimEnd().length)
    const box = range.getBoundingClientRect()
    if (!box.width || !meets(box, area)) continue
    const line = lines.at(-1)
    if (line && Math.abs(line.box.top - box.top) < box.height / 2) {
      line.text += word[0]
      line.box.right = box.right
    } else lines.push({ text: word[0], box: { left: box.left, right: box.right, top: box.top, height: box.height } })
  }
  const size = parseFloat(style.fontSize)
  const look = `fill="${style.color}" font-family="${escaped(style.fontFamily)}" font-size="${size}" font-weight="${style.fontWeight}"`
  const struck = style.textDecorationLine.includes('line-through') ? ' text-decoration="line-through"' : ''
  const see = opacity < 1 ? ` opacity="${round(opacity)}"` : ''
  return lines.map(({ text, box }) => {
    // The baseline of a Latin font lies about a third of its size below the middle of the line.
    const [x, y] = [round(box.left - left), round(box.top - top + box.height / 2 + size * 0.35)]
    const width = `textLength="${round(box.right - box.left)}" lengthAdjust="spacingAndGlyphs"`
    return `<text x="${x}" y="${y}" ${width} ${look}${struck}${see}>${escaped(text.trimEnd())}</text>`
  })
}

/**
 * @param {SVGSVGElement} element
 * @param {DOMRect} box
 * @param {{ left: number, top: number, opacity: number }} from
 */
function drawing(element, box, { left, top, opacity }) {
  const copy = /** @type {SVGSVGElement} */ (element.cloneNode(true))
  const [here, there] = [element.querySelectorAll('*'), copy.querySelectorAll('*')]
  there.forEach((node, at) => {
    if (!(node instanceof SVGElement)) return
    const style = getComputedStyle(here[at])
    for (const name of INHERITED) node.setAttribute(name, style.getPropertyValue(name))
    node.removeAttribute('style')
    const drawn = here[at]
    if (drawn instanceof SVGTextContentElement && !drawn.childElementCount && drawn.getComputedTextLength()) {
      node.setAttribute('textLength', String(round(drawn.getComputedTextLength())))
      node.setAttribute('lengthAdjust', 'spacingAndGlyphs')
    }
  })
  for (const node of copy.querySelectorAll(LEFT_OUT)) node.remove()
  for (const [name, value] of Object.entries({ x: box.left - left, y: box.top - top, opacity }))
    copy.setAttribute(name, String(round(value)))
  for (const [name, value] of Object.entries({ width: box.width, height: box.height }))
    copy.setAttribute(name, String(round(value)))
  copy.removeAttribute('style')
  return new XMLSerializer().serializeToString(copy)
}

/**
 * @param {string} source
 * @param {DOMRect} box
 * @param {{ left: number, top: number, opacity: number }} from
 */
function image(source, box, { left, top, opacity }) {
  const place = `x="${round(box.left - left)}" y="${round(box.top - top)}" opacity="${round(opacity)}"`
  return `<image href="${escaped(source)}" ${place} width="${round(box.width)}" height="${round(box.height)}"/>`
}
