// The frame around the nodes of an open group. Its title selects them all; then they are dragged together.
import { memo, useContext } from 'react'
import { groupId } from '../grouping.js'
import { Picture } from './picture.js'

/** @import { NodeProps } from '@xyflow/react' */
/** @import { FrameNode } from '../types' */

export const Frame = memo(function Frame(/** @type {NodeProps<FrameNode>} */ { data }) {
  const { fold, pick } = useContext(Picture)
  const { name, count, title } = data
  const quietly = (/** @type {() => void} */ act) => (/** @type {import('react').MouseEvent} */ event) => {
    event.stopPropagation()
    act()
  }
  return (
    <div className={`frame ${data.isChosen ? 'chosen' : ''}`}>
      {title && (
        <div
          className="frame-title nodrag nopan"
          style={{ left: title.left, top: title.top, width: title.right - title.left }}
        >
          <button
            className="fold"
            aria-label={`Fold the group ${name}`}
            title="Fold the group (G)"
            onClick={quietly(() => fold(name, true))}
          >
            −
          </button>
          <button
            className="frame-name"
            aria-label={`group ${name}, ${count} ${count === 1 ? 'node' : 'nodes'}`}
            title="Select the group"
            onClick={quietly(() => pick(groupId(name)))}
          >
            {name}
          </button>
        </div>
      )}
    </div>
  )
})
