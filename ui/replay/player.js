// Plays the events of a run: data in #data (see events.py), the graph as SVG in #graph, which the picture's script drew.
const data = JSON.parse(document.getElementById('data').textContent)
const at = (id) => document.getElementById(id)
const SVG = 'http://www.w3.org/2000/svg'
const BEAT_MS = 1300
const MOVE_MS = 650
const MOST_DOTS = 40
const calm = matchMedia('(prefers-reduced-motion: reduce)').matches
const before = data.first - 1
let event = before
let step = -1
let timer = 0
let output = Math.max(0, data.edges.findLastIndex((edge) => edge.role !== 'source' && edge.columns.length))

const did = (seq) => data.events[seq - data.first] ?? { records: [] }
const isTaking = (kind) => kind === '-U' || kind === '-D'
const own = (tag, text, name) => {
  const made = document.createElement(tag)
  if (text != null) made.textContent = text
  if (name) made.className = name
  return made
}
const drawn = (tag, facts, inside) => {
  const made = document.createElementNS(SVG, tag)
  for (const [name, value] of Object.entries(facts)) made.setAttribute(name, value)
  if (inside != null) made.textContent = inside
  return made
}
const badge = (kind) => {
  const made = own('span', kind, 'kind')
  made.style.background = data.kinds[kind]
  return made
}

// The table of an output after an event. Rows of a key replace each other; without a key, equal rows are counted.
function tableAfter(edge, seq) {
  const keyed = edge.key.length > 0
  const idOf = (values) => JSON.stringify(keyed ? edge.key.map((place) => values[place]) : values)
  const rows = new Map()
  const add = (values, isNew) => {
    const id = idOf(values)
    const same = rows.get(id)
    if (same && !keyed) Object.assign(same, { count: same.count + 1, isNew })
    else rows.set(id, { values, count: 1, isNew })
  }
  edge.rows.forEach((values) => add(values, false))
  const number = data.edges.indexOf(edge)
  for (let each = data.first; each <= seq; each++) {
    for (const [of, kind, values] of did(each).records) {
      if (of !== number) continue
      if (!isTaking(kind)) add(values, each === seq)
      else {
        const gone = rows.get(idOf(values))
        if (gone && gone.count > 1) gone.count--
        else rows.delete(idOf(values))
      }
    }
  }
  return [...rows.values()].flatMap((row) => Array.from({ length: row.count }, () => row))
}

function cell(value) {
  const made = value === null ? own('td', 'NULL', 'null') : own('td', value)
  made.title = value ?? 'NULL'
  return made
}

function fill(place, head, rows, empty) {
  if (!rows.length) return place.replaceChildren(own('p', empty, 'empty'))
  const table = own('table')
  const top = table.createTHead().insertRow()
  head.forEach((name) => top.append(own('th', name)))
  table.createTBody().append(...rows)
  place.replaceChildren(table)
}

function showTable() {
  const edge = data.edges[output]
  const rows = tableAfter(edge, event).map((row) => {
    const made = own('tr', null, row.isNew ? 'new' : '')
    made.append(...row.values.map(cell))
    return made
  })
  fill(at('table'), edge.columns, rows, 'No rows.')
  if (edge.more > 0) at('table').prepend(own('p', `Without ${edge.more.toLocaleString('en')} rows that were there before.`, 'empty'))
}

function showCascade() {
  const rows = did(event).records.map(([of, kind, values, why]) => {
    const edge = data.edges[of]
    const made = own('tr')
    const sign = own('td')
    sign.append(badge(kind))
    made.append(own('td', edge.name), sign, own('td', data.whys[why], 'why'))
    made.append(cell(edge.columns.map((name, place) => `${name}=${values[place] ?? 'NULL'}`).join(', ')))
    return made
  })
  fill(at('cascade'), ['on', 'kind', 'why', 'record'], rows, event < data.first ? 'Before the first event.' : 'Nothing.')
}

const clock = (ms) => {
  const changed = data.zone.changes.filter((at) => at <= ms).length
  const then = new Date(ms + data.zone.offsets[changed])
  return Number.isNaN(then.getTime()) ? `${ms} ms` : then.toISOString().replace('T', ' ').replace('Z', '')
}

function markAt(line, seq) {
  if (line.end != null && seq >= line.end) return 'end of input'
  const passed = line.steps.filter(([from]) => from <= seq)
  return passed.length ? clock(passed[passed.length - 1][1]) : 'none yet'
}

function summary() {
  if (event < data.first) return `Before event ${data.first.toLocaleString('en')}.`
  const facts = did(event)
  const parts = []
  if (facts.ends) parts.push(`the end of ${facts.ends}`)
  for (const each of facts.late ?? []) parts.push(`late at ${each.node}: ${each.text}`)
  for (const each of facts.fires ?? []) parts.push(`the watermark fired ${each}`)
  // The source's record is the event itself, not its effect.
  const made = facts.records.filter(([of]) => data.edges[of].role !== 'source')
  const taken = made.filter(([, kind]) => isTaking(kind)).length
  const many = made.length
  parts.push(`it caused ${many} record${many === 1 ? '' : 's'}${taken ? `, ${taken} of them retractions` : ''}`)
  const marks = data.watermarks.map((line) => `${line.name} ${markAt(line, event)}`)
  return [...parts, ...marks].join(' · ')
}

function drawnEdges(of) {
  return data.edges[of].drawn.flatMap((key) => [...document.querySelectorAll(`#graph [data-edge="${CSS.escape(key)}"]`)])
}

function light() {
  const facts = did(event)
  const graph = at('graph')
  graph.querySelectorAll('.lit, .died').forEach((each) => each.classList.remove('lit', 'died'))
  graph.classList.toggle('playing', event >= data.first)
  const node = (name) => graph.querySelector(`[data-node="${CSS.escape(name)}"]`)
  for (const [of] of facts.records) {
    drawnEdges(of).forEach((each) => each.classList.add('lit'))
    node(data.edges[of].name.split('.')[0])?.classList.add('lit')
    data.edges[of].drawn.forEach((key) => node(key.split('>')[1].split(':')[0])?.classList.add('lit'))
  }
  for (const each of facts.late ?? []) node(each.node)?.classList.add('lit', ...(each.dropped ? ['died'] : []))
}

// A dot per record runs along every edge that carries it, one after the other in order of emission.
function move() {
  svg?.querySelectorAll('.dot').forEach((each) => each.remove())
  if (calm || !svg) return
  did(event).records.slice(0, MOST_DOTS).forEach(([of, kind], place, all) => {
    for (const group of drawnEdges(of)) {
      const path = group.querySelector('path')
      if (!path) continue
      const dot = drawn('circle', { r: 7, fill: data.kinds[kind], class: 'dot', stroke: '#fff', 'stroke-width': 1.5 })
      const length = path.getTotalLength()
      const start = performance.now() + (place * MOVE_MS) / Math.max(2, all.length)
      const tick = (now) => {
        const part = (now - start) / MOVE_MS
        if (part >= 1 || (part > 0 && !dot.isConnected)) return dot.remove()
        if (part > 0) {
          const to = path.getPointAtLength(length * part)
          dot.setAttribute('cx', to.x)
          dot.setAttribute('cy', to.y)
        }
        requestAnimationFrame(tick)
      }
      dot.setAttribute('cx', -99)
      svg.append(dot)
      requestAnimationFrame(tick)
    }
  })
}

// The part of the graph that is seen. If all of it would be too small to read, it follows the event's records.
const LEAST = 11 / 15
const svg = document.querySelector('#graph svg')
const whole = svg && { ...Object.fromEntries(['x', 'y', 'width', 'height'].map((side) => [side, svg.viewBox.baseVal[side]])) }
let isWhole = false
let seen = whole
let moving = 0

function see(box, ms) {
  cancelAnimationFrame(moving)
  const from = seen
  const start = performance.now()
  const tick = (now) => {
    const part = ms ? Math.min(1, Math.max(0, now - start) / ms) : 1
    const soft = part * part * (3 - 2 * part)
    seen = Object.fromEntries(Object.keys(box).map((side) => [side, from[side] + (box[side] - from[side]) * soft]))
    svg.setAttribute('viewBox', Object.values(seen).join(' '))
    if (part < 1) moving = requestAnimationFrame(tick)
  }
  tick(start)
}

function frame(forward) {
  if (!svg) return
  const wide = at('graph').clientWidth
  const most = Math.max(200, innerHeight * 0.45)
  const fit = Math.min(1, wide / whole.width, most / whole.height)
  const isSmall = fit < LEAST
  at('all').hidden = !isSmall
  at('all').setAttribute('aria-pressed', String(isWhole))
  // Before the first event, all of it.
  const scale = isSmall && !isWhole && event >= data.first ? LEAST : fit
  const high = Math.min(most, whole.height * scale)
  svg.setAttribute('width', isSmall ? wide : whole.width * fit)
  svg.setAttribute('height', high)
  if (scale === fit) return see(whole, 0)
  const lit = [...svg.querySelectorAll('.lit .body, .died .body')].map((body) => body.getBBox())
  const [begin, end] = camera.shots(lit, whole, { width: wide, height: high }, LEAST)
  if (calm || !forward || !end) return see(begin, calm || !lit.length ? 0 : 300)
  see(begin, 0)
  see(end, MOVE_MS * 2)
}

const W = 900
const H = 200
const SECOND = 1000
const DAY = 86_400 * SECOND
const STEPS = [
  ...[1, 2, 5, 10, 20, 50, 100, 200, 500],
  ...[1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10_800, 21_600, 43_200].map((each) => each * SECOND),
  ...[1, 2, 7, 14, 30, 90, 365, 1825, 3650, 36_500].map((each) => each * DAY),
]

// Round numbers between two, at most six.
function ticks(low, high, steps) {
  const by = steps.find((each) => (high - low) / each <= 5) ?? steps[steps.length - 1]
  const found = []
  for (let each = Math.ceil(low / by) * by; each <= high; each += by) found.push(each)
  return { by, found }
}

// A tick of the time: as short as its distance to the next one allows.
const tickText = (ms, by) => clock(ms).slice(...(by >= DAY ? [0, 10] : by >= 60 * SECOND ? [5, 16] : by >= SECOND ? [11, 19] : [11, 23]))

function axis(name, title, labels) {
  const made = own('div', null, `axis ${name}`)
  made.append(own('b', title))
  for (const [part, text] of labels) {
    const label = own('span', text)
    label.style[name === 'up' ? 'top' : 'left'] = `${(part * 100).toFixed(2)}%`
    made.append(label)
  }
  return made
}
const scale = { x: () => 0, y: () => 0 }
function drawChart() {
  const points = data.events.map((each, place) => [data.first + place, each]).filter(([, each]) => each.time != null)
  const lines = data.watermarks.filter((line) => line.steps.length)
  if (!points.length) return
  at('time').hidden = false
  const times = [...points.map(([, each]) => each.time), ...lines.flatMap((line) => line.steps.map(([, ms]) => ms))]
  const low = times.reduce((one, other) => Math.min(one, other))
  const span = Math.max(1, times.reduce((one, other) => Math.max(one, other)) - low)
  scale.x = (seq) => 12 + ((seq - before) / Math.max(1, data.last - before)) * (W - 24)
  scale.y = (ms) => H - 12 - ((ms - low) / span) * (H - 24)
  const svg = drawn('svg', { viewBox: `0 0 ${W} ${H}`, preserveAspectRatio: 'none', role: 'img' })
  svg.setAttribute('aria-label', 'Event time over arrival order, with the watermark')
  const inTime = ticks(low, low + span, STEPS)
  for (const ms of inTime.found) {
    const y = scale.y(ms).toFixed(1)
    svg.append(drawn('line', { x1: 0, x2: W, y1: y, y2: y, class: 'grid' }))
  }
  const powers = [1, 2, 5].flatMap((each) => [1, 10, 100, 1000].map((power) => each * power)).sort((a, b) => a - b)
  const names = []
  lines.forEach((line, place) => {
    const color = ['#3f66c9', '#1c7f8c', '#8a5fbf', '#a8600c'][place % 4]
    const known = line.steps.filter(([seq]) => seq <= data.last)
    let d = ''
    known.forEach(([seq, ms], each) => {
      const x = scale.x(Math.max(before, seq)).toFixed(1)
      d += each ? ` H${x} V${scale.y(ms).toFixed(1)}` : `M${x},${scale.y(ms).toFixed(1)}`
    })
    d += ` H${scale.x(Math.min(data.last, line.end ?? data.last)).toFixed(1)}`
    svg.append(drawn('path', { d, fill: 'none', stroke: color, 'stroke-width': 2, 'vector-effect': 'non-scaling-stroke' }))
    names.push(['line', color, line.name])
  })
  for (const [state, color] of Object.entries(data.states)) {
    const of = points.filter(([, each]) => each.state === state)
    if (of.length) names.push(['dot', color, state])
    for (const [seq, each] of of) {
      // A line without length: the chart is stretched, and its points stay round.
      const d = `M${scale.x(seq).toFixed(1)},${scale.y(each.time).toFixed(1)} h0`
      const mark = drawn('path', { d, stroke: color, 'stroke-width': 9, 'stroke-linecap': 'round' })
      mark.setAttribute('vector-effect', 'non-scaling-stroke')
      mark.append(drawn('title', {}, `event ${seq}: ${clock(each.time)}, ${state}`))
      svg.append(mark)
    }
  }
  svg.append(drawn('line', { id: 'here', y1: 0, y2: H, stroke: 'currentColor', 'stroke-dasharray': '4 3' }))
  const legend = own('div', null, 'legend')
  names.forEach(([shape, color, name]) => {
    const entry = own('span')
    const mark = own('i', shape === 'line' ? '━ ' : '● ')
    mark.style.color = color
    entry.append(mark, name)
    legend.append(entry)
  })
  const plot = own('div', null, 'plot')
  plot.append(
    axis('up', `event time (${clock(low).slice(0, 10)})`, inTime.found.map((ms) => [scale.y(ms) / H, tickText(ms, inTime.by)])),
    svg,
    axis('along', 'event', ticks(data.first, data.last, powers).found.map((seq) => [scale.x(seq) / W, seq.toLocaleString('en')])),
  )
  at('chart').replaceChildren(legend, plot)
}

function show() {
  at('event').value = event
  at('now').textContent = event < data.first ? 'before the first event' : `event ${event.toLocaleString('en')} of ${data.last.toLocaleString('en')}`
  at('previous').disabled = event <= before
  at('next').disabled = event >= data.last
  at('summary').textContent = summary()
  const here = at('here')
  if (here) for (const side of ['x1', 'x2']) here.setAttribute(side, scale.x(event))
  light()
  showCascade()
  showTable()
}

function go(seq) {
  const to = Math.min(data.last, Math.max(before, seq))
  const forward = to > event
  event = to
  show()
  frame(forward)
  if (forward) move()
}

function jump(isOne) {
  for (let seq = event + 1; seq <= data.last; seq++) if (isOne(did(seq))) return go(seq)
  at('summary').textContent = `None after event ${event.toLocaleString('en')} in this file.`
}

function pause() {
  clearInterval(timer)
  timer = 0
  at('play').setAttribute('aria-pressed', 'false')
}

function play() {
  if (timer) return pause()
  if (event >= data.last) go(before)
  at('play').setAttribute('aria-pressed', 'true')
  timer = setInterval(() => (event >= data.last ? pause() : go(event + 1)), BEAT_MS)
  go(event + 1)
}

function choose(number) {
  output = number
  at('output').value = number
  showTable()
}

function tell(number) {
  step = Math.min(data.steps.length - 1, Math.max(0, number))
  const { event: seq, edge } = data.steps[step]
  showStep()
  const of = data.edges.findIndex((each) => each.name === edge)
  if (of >= 0) choose(of)
  if (seq != null) go(seq)
}

// -1 is before the first step.
function showStep() {
  document.querySelectorAll('.told').forEach((each, place) => (each.hidden = place !== step))
  at('step').textContent = step < 0 ? `a story of ${data.steps.length} steps` : `step ${step + 1} of ${data.steps.length}`
  at('back').disabled = step <= 0
  at('forward').disabled = step === data.steps.length - 1
}

const acts = {
  previous: () => go(event - 1),
  next: () => go(event + 1),
  play,
  retraction: () => jump((each) => each.records.some(([, kind]) => isTaking(kind))),
  window: () => jump((each) => each.fires),
  late: () => jump((each) => each.late),
}
acts.all = () => {
  isWhole = !isWhole
  frame(false)
}
// Of a story the steps, else the events.
const [right, left] = data.steps.length ? ['forward', 'back'] : ['next', 'previous']
const keys = { arrowright: right, pagedown: right, arrowleft: left, pageup: left }
for (const [name, act] of Object.entries(acts)) {
  at(name).addEventListener('click', () => {
    if (name !== 'play' && name !== 'all') pause()
    act()
  })
  keys[at(name).getAttribute('aria-keyshortcuts').toLowerCase()] = name
}
document.addEventListener('keydown', (press) => {
  if (press.ctrlKey || press.metaKey || press.altKey || press.target.matches('select')) return
  // The slider needs its own keys, and no letters.
  if (press.target.matches('input') && press.key.length > 1) return
  const name = keys[press.key.toLowerCase()]
  if (!name) return
  press.preventDefault()
  at(name).click()
})
Object.assign(at('event'), { min: before, max: data.last, step: 1 })
at('event').addEventListener('input', () => {
  pause()
  go(Number(at('event').value))
})
data.edges.forEach((edge, number) => {
  const choice = own('option', edge.name)
  choice.value = number
  at('output').append(choice)
})
at('output').addEventListener('change', () => choose(Number(at('output').value)))
at('graph').addEventListener('click', (click) => {
  const edge = click.target.closest('[data-edge]')?.dataset.edge
  const node = click.target.closest('[data-node]')?.dataset.node
  const of = data.edges.findIndex((each) => (edge ? each.drawn.includes(edge) : node && each.name === node))
  if (of >= 0) choose(of)
})
choose(output)
drawChart()
if (data.steps.length) {
  at('back').addEventListener('click', () => tell(step - 1))
  at('forward').addEventListener('click', () => tell(step + 1))
}
open(data.opening)
addEventListener('resize', () => frame(false))

// What was on screen when the file was written; without it, the first step of the story, or what was before all events.
function open({ event: seq, edge, step: told }) {
  if (seq == null && told == null && data.steps.length) return tell(0)
  if (seq != null) event = Math.min(data.last, Math.max(before, seq))
  const of = data.edges.findIndex((each) => each.name === edge)
  if (of >= 0) choose(of)
  if (data.steps.length) {
    step = told ?? data.steps.findIndex((each) => seq != null && each.event === seq)
    showStep()
  }
  show()
  frame(false)
}
