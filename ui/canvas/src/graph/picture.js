// What nodes and edges ask of the canvas that draws them.
import { createContext } from 'react'

/** @import { PictureActions } from '../types' */

const nothing = () => {}

/** @type {PictureActions} */
const READ_ONLY = { tip: nothing, problems: nothing, pick: nothing, open: nothing }

export const Picture = createContext(READ_ONLY)
