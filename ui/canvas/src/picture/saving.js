// A picture into the clipboard or into a file.

const SCALE = 2
const MOST_PX = 8000

/**
 * An SVG text as a PNG, twice as large, for screens and slides.
 *
 * @param {string} svg
 * @returns {Promise<Blob>}
 */
async function asPng(svg) {
  const image = new Image()
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svg)}`
  await image.decode()
  const scale = Math.min(SCALE, MOST_PX / Math.max(image.width, image.height))
  const canvas = document.createElement('canvas')
  canvas.width = Math.round(image.width * scale)
  canvas.height = Math.round(image.height * scale)
  canvas.getContext('2d')?.drawImage(image, 0, 0, canvas.width, canvas.height)
  return new Promise((resolve, reject) => {
    canvas.toBlob((blob) => (blob ? resolve(blob) : reject(new Error('the picture is too large'))), 'image/png')
  })
}

/**
 * @param {string} svg
 * @param {string} name of the file, without its ending
 * @param {'svg' | 'png'} format
 */
async function save(svg, name, format) {
  const content = format === 'svg' ? new Blob([svg], { type: 'image/svg+xml' }) : await asPng(svg)
  const link = document.createElement('a')
  link.href = URL.createObjectURL(content)
  link.download = `${name.replace(/[^\p{L}\p{N}._-]+/gu, '-') || 'pipeline'}.${format}`
  link.click()
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000)
}

// Browsers only let pages copy pictures that come from this computer or by https.
const canCopy = () => typeof ClipboardItem === 'function' && Boolean(navigator.clipboard?.write)

/** @param {string} svg */
const copy = (svg) => navigator.clipboard.write([new ClipboardItem({ 'image/png': asPng(svg) })])

/** @typedef {'copy' | 'png' | 'svg'} How */

/**
 * Copies a picture, or saves it where it cannot be copied or is wanted as a file.
 *
 * @param {How} how
 * @param {() => string} draw
 * @param {string} name
 * @returns {Promise<string>} what to tell
 */
export async function take(how, draw, name) {
  try {
    if (how === 'copy' && canCopy()) {
      await copy(draw())
      return 'Copied as a picture'
    }
    const format = how === 'copy' ? 'png' : how
    await save(draw(), name, format)
    return `Saved as ${format.toUpperCase()}`
  } catch (error) {
    return `Not done: ${error instanceof Error ? error.message : error}`
  }
}
