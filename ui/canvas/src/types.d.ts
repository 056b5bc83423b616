// What Python sends and what the canvas answers. `ui/builder/picture.py` and `ui/builder/messages.py` are the other
// side. Below that, the types that the parts of the canvas exchange.
import type { Edge, Node, ReactFlowInstance } from '@xyflow/react'
import type { MouseEvent, RefObject } from 'react'

declare global {
  const __SOURCES__: string
}

// --- the document

export type Spot = [x: number, y: number]

export interface PipelineNode {
  id: string
  operator: string
  parameters: Record<string, unknown>
  /** The group that it is in. */
  group?: string
  /** null: nobody placed it. */
  place: Spot | null
}

export interface PipelineEdge {
  source: string
  out: string
  target: string
  port: string
}

export interface Group {
  name: string
  /** The group around it, or ''. */
  inside: string
  isFolded: boolean
  /** Where it stands when it is folded. */
  place: Spot | null
}

export interface Pipeline {
  nodes: PipelineNode[]
  edges: PipelineEdge[]
  groups?: Group[]
}

/** `of`: the edge of the document, between whose ends folded groups may be drawn. */
export type DrawnPipelineEdge = PipelineEdge & { of: PipelineEdge }

/** Folded groups are nodes without an operator. */
export interface DrawnPipeline {
  nodes: PipelineNode[]
  edges: DrawnPipelineEdge[]
  groups: Group[]
}

export type Places = Record<string, Spot>

// --- what is known about it

export type Kind = '+I' | '-U' | '+U' | '-D'

export type Role = 'source' | 'operator' | 'sink'

export interface CatalogEntry {
  operator: string
  title: string
  summary: string
  /** Words of SQL and of other tools. */
  alsoCalled: string[]
  group: string
  role: Role
  ports: string[]
  many: boolean
  /** Only a script makes such a node. */
  hidden?: boolean
}

export type Catalog = Partial<Record<string, CatalogEntry>>

export interface Complaint {
  sentence: string
  /** A few words for the node itself. */
  brief?: string
  field?: string
  /** Nothing is wrong: a value or an input is still missing. */
  toDo?: boolean
  fixes?: string[]
}

export type NodeFacts = {
  hint?: string
  outputs?: string[]
  mode?: Kind[]
  strategy?: string
  reason?: string
  state?: string
  problems?: Complaint[]
  run?: {
    state: string
    in: number | null
    out: number | null
    dropped: number
    used: number
    rejected: number
    amplification?: string
    /** Of a source, while the run goes on. */
    watermark?: string
    /** What its state holds now; expired: entries so far; told: in a sentence. */
    held?: { size: string; expired: number; told: string }
  }
  error?: string
  /** How the node differs from the one that ran. */
  since?: string
  /** Time travel: the event touched it. */
  isLit?: boolean
}

export type EdgeFacts = {
  mode?: Kind[]
  because?: string
  keys?: string
  columns?: [name: string, type: string, note: string][]
  output?: string
  counts?: Partial<Record<Kind, number>>
}

export type LitFacts = {
  edge?: string
  records?: { kind: Kind; text: string; title: string }[]
  more?: number
}

export interface Refusal extends Complaint {
  n: number
  source: string
  target: string
}

/** The plain colours of a picture. */
export interface Pens {
  text: string
  muted: string
  line: string
  card: string
  paper: string
}

export interface Drawing {
  name: string
  colors: Record<string, string>
  pens: { light: Pens; dark: Pens }
  catalog: CatalogEntry[]
  document: Pipeline
  nodes: Partial<Record<string, NodeFacts>>
  /** Whether a room looks at it. */
  presented?: boolean
}

export interface CanvasData extends Drawing {
  draft: string
  ack?: { session: string; n: number }
  selection: string | null
  history?: { past: number; future: number }
  edges: Partial<Record<string, EdgeFacts>>
  /** Of the glossary; `words`: what else stands for it. */
  terms: { name: string; words: string }[]
  pages: { name: string; title: string }[]
  refused: Refusal | null
}

export interface TimeData extends Drawing {
  /** In px; null: that of its place. */
  height: number | null
  run: number
  event: number
  edges: Partial<Record<string, LitFacts>>
  /** The chosen node; the output whose changelog is shown. */
  selected: string | null
  shown: string
}

// --- gestures

export type Gesture =
  /** null: nothing is selected, and the form is put away */
  | { kind: 'select'; what: string | null }
  | {
      kind: 'add'
      id: string
      operator: string
      place?: Spot | null
      after?: string | null
      edge?: string | null
    }
  | { kind: 'connect'; source: string; out: string; target: string; port: string }
  | { kind: 'delete'; nodes: string[]; edges: string[] }
  | { kind: 'move'; places: Record<string, Spot | null> }
  | { kind: 'paste'; nodes: PipelineNode[]; edges: PipelineEdge[] }
  | { kind: 'group'; nodes: string[]; name: string }
  | { kind: 'ungroup'; group: string }
  | { kind: 'fold'; groups: Record<string, boolean> }
  | { kind: 'insert'; node: string; edge: string }
  | { kind: 'fix'; node: string; label: string }
  | { kind: 'undo' | 'redo' | 'save' | 'run' }
  | { kind: 'open'; edge?: string; late?: string; state?: string }

export type Message = Gesture & { n: number }

export interface Sent {
  session: string
  messages: Message[]
}

export type Post = (gesture: Gesture) => void

// --- what is drawn

/** What a folded group shows of its nodes. */
export type GroupFacts = {
  name: string
  nodes: string[]
  /** The ports with edges from and to other nodes, as NODE.PORT. */
  ports: string[]
  outputs: { port: string; isUpdating: boolean }[]
  /** The nodes with problems, and with values or inputs that are missing. */
  wrong: number
  toDo: number
  isStateful: boolean
  isChanged: boolean
  isLit: boolean
  run?: {
    state: string
    in: number | null
    out: number | null
    /** `node`: the one with most of them. */
    ledgers: { what: 'dropped' | 'late but used' | 'rejected'; count: number; node: string }[]
  }
}

export type NodeData = {
  operator: string
  group?: GroupFacts
  isPlaced?: boolean
  catalog?: Pick<CatalogEntry, 'title' | 'role' | 'ports'>
  facts: NodeFacts
  /** By input port: an edge ends there. */
  isTaken: Partial<Record<string, true>>
}

export type DrawnNode = Node<NodeData, 'op' | 'folded'>
/** `title`: where its title stands, from its corner; without one, there is no room for it. */
export type FrameNode = Node<{ name: string; count: number; isChosen: boolean; title?: Area | null }, 'frame'>
export type ChangelogFlowEdge = Edge<{ facts?: EdgeFacts; isTarget: boolean; line?: Line }, 'changelog'>
export type LitFlowEdge = Edge<{ facts: LitFacts; line?: Line }, 'lit'>

export type Area = { left: number; top: number; right: number; bottom: number }
/** A size of a label: kinds in columns, with their numbers, close or as their colours only, or the texts of records. */
export type Form = {
  form: 'counted' | 'kinds' | 'tight' | 'dots' | 'list'
  columns: number
  /** Each in its lines. */
  texts?: string[]
  width: number
  height: number
}
export type Label = Area & { size: Form }
/** A line as the path of an SVG, its middle, and its label, if that has room. */
export type Line = { d: string; x: number; y: number; label: Label | null }
export type Flow = ReactFlowInstance<DrawnNode, ChangelogFlowEdge>
export type Box = RefObject<HTMLDivElement>

/** What is pointed at, by a node's id or an edge's key. */
export type Pointed = { node?: string; edge?: string; event: MouseEvent }

export interface PictureActions {
  tip(pointed: Pointed | null): void
  problems(node: string): void
  /** An edge, or a group by its id. */
  pick(id: string): void
  fold(group: string, isFolded: boolean): void
  open(what: { edge?: string; late?: string; state?: string }): void
}

export interface Command {
  text: string
  alsoCalled?: string
  /** What its text is about: whoever types just this means it. */
  called?: string
  keys?: string
  run(): void
}
